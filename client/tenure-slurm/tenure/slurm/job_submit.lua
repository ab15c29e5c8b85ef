-- Tenure's gate for Slurm (JobSubmitPlugins=lua): every job of Tenure's partitions is held at birth, and only
-- the administrator, who runs the adapter, releases it. Written by `tenure slurm gate`.
local partitions = { @PARTITIONS@ }
local trusted = { [0] = true, [@UID@] = true }

local function is_owned(names)
  if names == nil or names == "" then return @DEFAULT@ end
  for name in string.gmatch(names, "[^,]+") do
    if partitions[name] then return true end
  end
  return false
end

function slurm_job_submit(d, parts, uid)
  if not is_owned(d.partition) then return slurm.SUCCESS end
  if d.priority == 0 and not trusted[uid] then
    slurm.log_user("tenure: a job cannot be held here; use --begin, or --comment='tenure: hold=true'")
    return slurm.ERROR
  end
  if d.licenses ~= nil and d.licenses ~= "" then
    slurm.log_user("tenure: licenses are not scheduled here")
    return slurm.ERROR
  end
  d.priority = 0
  d.admin_comment = "tenure: new"
  return slurm.SUCCESS
end

function slurm_job_modify(d, job, parts, uid)
  if trusted[uid] then return slurm.SUCCESS end
  if not is_owned(job.partition) then
    if d.partition == nil or not is_owned(d.partition) then return slurm.SUCCESS end
    slurm.log_user("tenure: a job cannot be moved here; submit it to the partition")
    return slurm.ERROR
  end
  local releases = d.priority ~= nil and d.priority ~= slurm.NO_VAL and d.priority ~= 0
  local places = d.req_nodes ~= nil or d.exc_nodes ~= nil
  if releases or places or (d.nice ~= nil and d.nice ~= slurm.NO_VAL) then
    slurm.log_user("tenure: priority, nice and nodes of this job are set by Tenure")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
