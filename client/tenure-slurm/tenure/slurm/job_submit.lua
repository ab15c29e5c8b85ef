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

-- Generic resources other than GPUs cannot be placed. CPUs of a task are none: newer versions list them here.
local function find_foreign(text)
  for part in string.gmatch(text or "", "[^,]+") do
    local name = string.match(part, "^gres[:/](.+)$") or part
    local is_known = name == "none" or name == "gpu" or string.match(name, "^gpu[:=]")
    if not is_known and not string.match(part, "^cpu[:=]%d+$") then return name end
  end
  return nil
end

-- Where the options of a comment begin, and those that are named hold, with what separates each from the next
-- one: the grammar of tenure.slurm.observe.options.
local function find_holds(comment)
  local holds, lower, position, last = {}, string.lower(comment), 1, 0
  repeat
    position, last = string.find(lower, "tenure:", last + 1, true)
    if position == nil then return nil, holds end
  until position == 1 or string.find(comment, "^%s", position - 1)
  local begin = last + 1
  position = begin
  while true do
    local _, stop, first, name, value = string.find(comment, "^%s*()([%a-]+)=([^%s,;]+)", position)
    if stop == nil then return begin, holds end
    _, position = string.find(comment, "^%s*[,;]?", stop + 1)
    position = position + 1
    if string.lower(name) == "hold" then
      table.insert(holds, { first = first, after = position, value = string.lower(value) })
    end
  end
end

-- The last one counts, and only false does not hold.
local function is_held(comment)
  local _, holds = find_holds(comment or "")
  return #holds > 0 and holds[#holds].value ~= "false"
end

local function without_holds(comment)
  local _, holds = find_holds(comment)
  for number = #holds, 1, -1 do
    local rest = string.gsub(string.sub(comment, holds[number].after), "^%s+", "")
    comment = string.sub(comment, 1, holds[number].first - 1) .. rest
    if rest == "" then comment = string.gsub(comment, "[%s,;]+$", "") end
  end
  return comment
end

-- The comment with the option that holds a job; other options in it stay.
local function with_hold(comment)
  if comment == nil or comment == "" then return "tenure: hold=true" end
  if is_held(comment) then return comment end
  local left = without_holds(comment)
  local begin = find_holds(left)
  if begin == nil then return left .. " tenure: hold=true" end
  local rest = string.gsub(string.sub(left, begin), "^%s+", "")
  local separator = rest == "" and "" or ", "
  return string.sub(left, 1, begin - 1) .. " hold=true" .. separator .. rest
end

local function without_hold(comment)
  local left = without_holds(comment)
  local begin = find_holds(left)
  if begin ~= nil and string.find(left, "^%s*$", begin) then
    left = string.gsub(string.sub(left, 1, begin - 1 - string.len("tenure:")), "%s+$", "")
  end
  if left == "" then return " " end -- Slurm takes an empty text for no change
  return left
end

function slurm_job_submit(d, parts, uid)
  if not is_owned(d.partition) then return slurm.SUCCESS end
  local requests = { d.tres_per_node or "", d.tres_per_job or "", d.tres_per_task or "", d.tres_per_socket or "" }
  for _, text in ipairs(requests) do
    local foreign = find_foreign(text)
    if foreign ~= nil then
      slurm.log_user("tenure: generic resource " .. foreign .. " is not scheduled here; request gpu only")
      return slurm.ERROR
    end
  end
  if d.priority == 0 then d.comment = with_hold(d.comment) end
  d.priority = 0
  d.admin_comment = "tenure: new"
  return slurm.SUCCESS
end

function slurm_job_modify(d, job, parts, uid)
  if not is_owned(job.partition) then
    if trusted[uid] or d.partition == nil or not is_owned(d.partition) then return slurm.SUCCESS end
    slurm.log_user("tenure: a job cannot be moved here; submit it to the partition")
    return slurm.ERROR
  end
  local has_priority = d.priority ~= nil and d.priority ~= slurm.NO_VAL
  local places = d.req_nodes ~= nil or d.exc_nodes ~= nil
  if trusted[uid] and places then -- the adapter holds, places and starts jobs so
    if has_priority and d.priority ~= 0 then
      if is_held(job.comment) then -- since the adapter has looked
        slurm.log_user("tenure: its owner holds it")
        return slurm.ERROR
      end
      d.priority = slurm.INFINITE -- as scontrol release
    end
    return slurm.SUCCESS
  end
  if trusted[uid] and d.admin_comment ~= nil then -- a text of the adapter is older than the mark of a priority
    local mark = string.match(job.admin_comment or "", "%[priority %d+%]")
    if mark ~= nil and string.find(d.admin_comment, mark, 1, true) == nil then
      d.admin_comment = d.admin_comment .. " " .. mark
    end
  end
  if has_priority and d.priority == 0 then -- scontrol hold
    d.comment = with_hold(job.comment)
    return slurm.SUCCESS
  end
  if has_priority and is_held(job.comment) and d.priority >= slurm.INFINITE then -- scontrol release
    d.comment = without_hold(job.comment)
    d.priority = slurm.NO_VAL
    return slurm.SUCCESS
  end
  if trusted[uid] then
    if has_priority and d.priority < slurm.NO_VAL then -- scontrol update Priority=N
      d.admin_comment = "tenure: new [priority " .. string.format("%d", d.priority) .. "]"
      d.priority = slurm.NO_VAL
    end
    return slurm.SUCCESS
  end
  if has_priority or places or (d.nice ~= nil and d.nice ~= slurm.NO_VAL) then
    slurm.log_user("tenure: priority, nice and nodes of this job are set by Tenure")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
