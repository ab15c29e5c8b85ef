"""Rows of a job: a pod group, a pod per node, and what each pod needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from tenure.slurm.observe.capacity_rows import FEATURE_PREFIX, GPU_TYPE_LABEL, NODE_LABEL, PARTITION_PREFIX
from tenure.slurm.observe.cluster import HOLDING, RELEASING, Run, Scope
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.memory import JobMemory, as_submitted
from tenure.slurm.observe.options import read_options, set_options
from tenure.slurm.observe.refused_starts import RefusalKind, Wait
from tenure.slurm.observe.rows import JobRow, number
from tenure.slurm.observe.tres import (
    MIB,
    Gpus,
    NodeRequest,
    Refused,
    node_gpus,
    read_cpus,
    read_memory,
    read_request,
)
from tenure.terms.annotations import key_of
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_DURATION_SECONDS

JOB_LABEL: Final = "slurm.tenure.scheduler/job"
JOB_NAME: Final = "slurm.tenure.scheduler/job-name"
"""Annotation with the name that the user gave. A job is known by its id: names occur many times."""
_PREEMPTIBILITY: Final = key_of("preemptibility")
_MINUTE: Final = 60
_MAX_NAME: Final = 253
_REQUEUE_PAUSE: Final = 600
"""A begin time this long after the submit time of a requeued job is the user's, and not Slurm's own pause."""
_PENDING: Final = pb.POD_STATUS_PENDING
_STATUS: Final = {
    **dict.fromkeys(HOLDING, pb.POD_STATUS_RUNNING),
    **dict.fromkeys(RELEASING, pb.POD_STATUS_RELEASING),
}


@dataclass(slots=True)
class JobRows:
    """The rows of one job."""

    group: pb.PodGroup
    pods: list[pb.Pod] = field(default_factory=list)
    shapes: dict[str, pb.PodShape] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    """Nodes that it holds."""
    gpus: int = 0
    """GPUs on each of its nodes."""
    warnings: list[str] = field(default_factory=list)
    waits: str = ""
    """Why Slurm does not start it, as a sentence for its user."""
    begins_at: int | None = None
    """When a pending job may start, in seconds since 1970, if that is later."""


def pod_group_uid(key: str, memory: JobMemory) -> str:
    """Uid of the pod group of a job: another job with the same id has another one."""
    return f"{key}@{memory.first_submit}"


def job_rows(
    run: Run,
    memory: JobMemory,
    scope: Scope,
    now: int,
    wait: Wait | None = None,
) -> JobRows:
    """All rows of a job. `now` is in seconds since 1970, `wait` why Slurm may not start it.

    A job that Tenure cannot place is a pod group whose pods say why. One that waits for Slurm is gated.
    """
    job = as_submitted(run.job, memory)
    rows = JobRows(_group(run, job, memory, scope))
    options, rows.warnings = read_options(job.comment or "")
    rows.warnings += set_options(rows.group, options)
    _set_preemptibility(rows.group, job)
    if limit := number(job.time_limit):
        rows.group.time_limit.seconds = min(limit * _MINUTE, MAX_DURATION_SECONDS)
        seconds = rows.group.time_limit.seconds * scope.expected_runtime_percent // 100
        if seconds and "expected-runtime" not in options:
            rows.group.expected_runtime.seconds = seconds
    status = _STATUS.get(job.state, _PENDING)
    refusal = ""
    try:
        request = _running_request(run) if status != _PENDING else read_request(job)
        shapes = _shapes(rows.group.uid, job, request, scope, is_placed=status != _PENDING)
    except (Refused, HostListError) as reason:
        request, refusal = NodeRequest(1, 1, 0, Gpus()), str(reason)
        shapes = _shapes(rows.group.uid, job, request, scope, is_placed=True)
    if status == _PENDING:
        status, rows.begins_at = _gate(run, rows.group, now)
        if wait is not None and not refusal:
            rows.waits = wait.text
            if wait.kind is RefusalKind.REQUEST:
                refusal = wait.text
            elif wait.kind is None:
                rows.group.never_evicts = True
            else:
                status = pb.POD_STATUS_GATED
    rows.group.min_member = request.nodes
    rows.shapes = {shape.id: shape for shape in shapes}
    nodes, run_number = run.nodes, memory.restarts + memory.lost_runs
    rows.nodes, rows.gpus = nodes, request.gpus.devices
    for i, shape in enumerate(shapes):
        pod = pb.Pod(uid=f"{rows.group.uid}#{run_number}/{i}", name=f"{run.reference}.{i}")
        pod.pod_group, pod.shape, pod.status = rows.group.uid, shape.id, status
        pod.node = nodes[i] if i < len(nodes) else ""
        pod.blocked_reason = refusal
        pod.creation_time.seconds = memory.first_submit
        pod.labels[JOB_LABEL] = rows.group.uid
        rows.pods.append(pod)
    return rows


def queue_name(job: JobRow, scope: Scope) -> str:
    """Name of the queue of a job."""
    names = {"account": job.account, "qos": job.qos, "partition": job.partition.split(",")[0]}
    return (names[scope.queue_from] or scope.default_queue)[:_MAX_NAME]


def priority_of(job: JobRow, scope: Scope) -> int:
    """Priority of a job, by its QOS or its partition."""
    named = (job.qos or "", job.partition)
    known = [scope.priorities[name] for name in named if name in scope.priorities]
    return known[0] if known else scope.default_priority


def _group(run: Run, job: JobRow, memory: JobMemory, scope: Scope) -> pb.PodGroup:
    row = pb.PodGroup(uid=pod_group_uid(run.key, memory), name=run.reference)
    row.namespace = _printable(job.user_name or str(job.user_id))
    row.queue = queue_name(job, scope)
    row.priority = priority_of(job, scope)
    row.creation_time.seconds = memory.first_submit
    row.annotations[JOB_NAME] = _printable(job.name or "")
    start = number(job.start_time)
    if job.state in HOLDING and start:
        row.last_start_time.seconds = start
    return row


def _set_preemptibility(row: pb.PodGroup, job: JobRow) -> None:
    """Jobs that Slurm cannot requeue are never evicted; of the others, an option decides."""
    if not (job.requeue and job.batch_flag):
        row.annotations.pop(_PREEMPTIBILITY, None)
        row.preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    elif _PREEMPTIBILITY not in row.annotations:
        row.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE


def _gate(run: Run, group: pb.PodGroup, now: int) -> tuple["pb.PodStatus", int | None]:
    """Status of a pending job, and when it may start if that is later."""
    begin = number(run.job.eligible_time) or 0
    is_requeue_pause = run.job.restart_cnt and begin < run.submit + _REQUEUE_PAUSE
    if run.is_dependent:
        group.held_by = pb.HOLD_REASON_DEPENDENCY
    elif not run.is_throttled and (begin <= now or is_requeue_pause):
        return _PENDING, None
    return pb.POD_STATUS_GATED, begin if begin > now else None


def _running_request(run: Run) -> NodeRequest:
    """What a job holds on each of its nodes, whatever its request was."""
    job, nodes = run.job, max(len(run.nodes), 1)
    gpus = max(map(node_gpus, job.gres_detail), default=Gpus())
    cpus, memory = read_cpus(job, nodes), read_memory(job, read_cpus(job, nodes))
    return NodeRequest(nodes, cpus, memory or 0, gpus)


def _shapes(
    group: str, job: JobRow, request: NodeRequest, scope: Scope, *, is_placed: bool
) -> list[pb.PodShape]:
    """What the pod of each node needs; equal shapes have equal ids. Raises Refused and HostListError."""
    named = [] if is_placed else expand(job.required_nodes or "")
    excluded = [] if is_placed else expand(job.excluded_nodes or "")
    if len(named) > request.nodes:
        raise Refused(f"{len(named)} nodes are named; use --nodes={len(named)}")
    parts = job.partition.split(",")
    alien = sorted(set(parts) - set(scope.partitions))
    if alien and not is_placed:
        raise Refused(f"partition {alien[0]} is not scheduled here; use {scope.partitions[0]}")
    base = pb.PodShape()
    base.requests.cpu_milli = 1_000 * request.cpus
    base.requests.memory_bytes = request.memory_mib * MIB
    if request.gpus.devices:
        base.gpu.devices = request.gpus.devices
    if request.gpus.type and not is_placed:
        base.node_selector[GPU_TYPE_LABEL] = request.gpus.type
    if not is_placed:
        _add_terms(base, request.features, parts, excluded)
    if job.is_exclusive:
        term = base.pod_anti_affinity.add(topology_key=NODE_LABEL, all_namespaces=True)
        term.match_expressions.add(key=JOB_LABEL, operator=pb.SELECTOR_OPERATOR_EXISTS)
    elif request.nodes > 1:
        term = base.pod_anti_affinity.add(topology_key=NODE_LABEL, all_namespaces=True)
        term.match_labels[JOB_LABEL] = group
    pinned = [named[i] if i < len(named) else "" for i in range(request.nodes)]
    return [_with_id(base, node) for node in pinned]


def _add_terms(
    shape: pb.PodShape, features: Sequence[Sequence[str]], partitions: Sequence[str], excluded: Sequence[str]
) -> None:
    for names in features or ((),):
        for partition in partitions:
            term = shape.node_affinity.add()
            for key in (f"{PARTITION_PREFIX}{partition}", *(f"{FEATURE_PREFIX}{name}" for name in names)):
                term.requirements.add(key=key, operator=pb.SELECTOR_OPERATOR_EXISTS)
            if excluded:
                kind = pb.SELECTOR_OPERATOR_NOT_IN
                term.requirements.add(key=NODE_LABEL, operator=kind, values=excluded)


def _with_id(base: pb.PodShape, node: str) -> pb.PodShape:
    shape = pb.PodShape()
    shape.CopyFrom(base)
    if node:
        shape.node_selector[NODE_LABEL] = node
    content = shape.SerializeToString(deterministic=True)
    shape.id = sha256(content).hexdigest()[:16]
    return shape


def _printable(text: str) -> str:
    """A name without control characters, at most _MAX_NAME characters long."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_MAX_NAME])
