"""Rows of a job: a pod group, a pod per node, and what each pod needs."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from tenure.slurm.observe.capacity_rows import (
    FEATURE_PREFIX,
    GPU_TYPE_LABEL,
    NODE_LABEL,
    PARTITION_PREFIX,
    RESERVATION_PREFIX,
    RESERVATION_TAINT,
    TYPE_PREFIX,
)
from tenure.slurm.observe.cluster import HOLDING, RELEASING, Run, Scope
from tenure.slurm.observe.comment_marks import read_priority
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.memory import JobMemory, as_submitted
from tenure.slurm.observe.options import read_options, set_options
from tenure.slurm.observe.refused_starts import RefusalKind, Wait
from tenure.slurm.observe.requests import UNKNOWN, Capacity, NodeRequest, part_of_node, read_request
from tenure.slurm.observe.rows import JobRow, number
from tenure.slurm.observe.tres import MIB, Gpus, Refused, node_gpus
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
    gpus: list[int] = field(default_factory=list)
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
    capacity: Capacity = UNKNOWN,
    closing: Set[str] = frozenset(),
) -> JobRows:
    """All rows of a job. `now` is in seconds since 1970, `wait` why Slurm may not start it,
    `closing` are nodes that a reservation takes before the job would end.

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
        if status == _PENDING:
            named = expand(job.required_nodes or "")
            request = read_request(job, capacity, len(named))
            shapes = _waiting_shapes(rows.group.uid, job, request, scope, named, capacity, closing)
            rows.gpus = [request.gpus.devices] * request.nodes
        else:
            request, gpus = _running_request(run)
            shapes = _running_shapes(rows.group.uid, job, request, gpus, capacity)
            rows.gpus = [one.devices for one in gpus]
    except (Refused, HostListError) as reason:
        request, refusal = NodeRequest(1, 1, 0, Gpus()), str(reason)
        shapes = [_with_id(_base_shape(rows.group.uid, job, request), {})]
    if status == _PENDING:
        status, rows.begins_at = _gate(run, rows.group, now)
        if run.is_impossible:
            rows.waits = "DependencyNeverSatisfied: a job that it depends on ended in another way"
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
    rows.nodes = nodes
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
    """Priority of a job: that of an administrator, else by its QOS or its partition."""
    if (given := read_priority(job.admin_comment)) is not None:
        return given
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


def _running_request(run: Run) -> tuple[NodeRequest, list[Gpus]]:
    """What a job holds on each of its nodes, whatever its request was, and its GPUs by node."""
    job, nodes = run.job, max(len(run.nodes), 1)
    gpus = [node_gpus(text) for text in job.gres_detail]
    if len(gpus) != nodes:
        gpus = [max(gpus, default=Gpus())] * nodes
    return NodeRequest(nodes, *part_of_node(job, nodes), gpus[0]), gpus


def _base_shape(group: str, job: JobRow, request: NodeRequest) -> pb.PodShape:
    """What the pods of all nodes have in common, but GPUs and where they may be."""
    base = pb.PodShape()
    base.requests.cpu_milli = 1_000 * request.cpus
    base.requests.memory_bytes = request.memory_mib * MIB
    if job.is_exclusive:
        term = base.pod_anti_affinity.add(topology_key=NODE_LABEL, all_namespaces=True)
        term.match_expressions.add(key=JOB_LABEL, operator=pb.SELECTOR_OPERATOR_EXISTS)
    elif request.nodes > 1:
        term = base.pod_anti_affinity.add(topology_key=NODE_LABEL, all_namespaces=True)
        term.match_labels[JOB_LABEL] = group
    return base


def _running_shapes(
    group: str, job: JobRow, request: NodeRequest, gpus: Sequence[Gpus], capacity: Capacity
) -> list[pb.PodShape]:
    """What the pod of each node holds; equal shapes have equal ids."""
    base = _base_shape(group, job, request)
    return [_with_id(_with_gpus(base, one, capacity), {}) for one in gpus]


def _waiting_shapes(
    group: str,
    job: JobRow,
    request: NodeRequest,
    scope: Scope,
    named: Sequence[str],
    capacity: Capacity,
    closing: Set[str],
) -> list[pb.PodShape]:
    """What the pod of each node needs; equal shapes have equal ids. Raises Refused and HostListError."""
    if len(named) > request.nodes:
        raise Refused(f"{len(named)} nodes are named; use --nodes={len(named)}")
    parts = [name for name in job.partition.split(",") if name in scope.partitions]
    base = _with_gpus(_base_shape(group, job, request), request.gpus, capacity)
    for name, _ in request.gpus.types:
        if name not in capacity.mixed_types:
            base.node_selector[GPU_TYPE_LABEL] = name
    _add_terms(base, request.features, parts, sorted({*expand(job.excluded_nodes or ""), *closing}))
    if job.resv_name:
        base.node_selector[f"{RESERVATION_PREFIX}{job.resv_name}"] = "true"
        base.tolerations.add(key=RESERVATION_TAINT, value=job.resv_name)
    own = [name for name, count in request.counted for _ in range(count)]
    shapes: list[pb.PodShape] = []
    for i in range(request.nodes):
        selected = {NODE_LABEL: named[i]} if i < len(named) else {}
        if i < len(own):
            selected[f"{FEATURE_PREFIX}{own[i]}"] = "true"
        shapes.append(_with_id(base, selected))
    return shapes


def _with_gpus(base: pb.PodShape, gpus: Gpus, capacity: Capacity) -> pb.PodShape:
    """A shape with GPUs. Nodes with several types count those of each type."""
    shape = pb.PodShape()
    shape.CopyFrom(base)
    if gpus.devices:
        shape.gpu.devices = gpus.devices
    for name, count in gpus.types:
        if name in capacity.mixed_types:
            shape.requests.extended[f"{TYPE_PREFIX}{name}"] = count
    return shape


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


def _with_id(base: pb.PodShape, selected: Mapping[str, str]) -> pb.PodShape:
    shape = pb.PodShape()
    shape.CopyFrom(base)
    for label, value in selected.items():
        shape.node_selector[label] = value
    content = shape.SerializeToString(deterministic=True)
    shape.id = sha256(content).hexdigest()[:16]
    return shape


def _printable(text: str) -> str:
    """A name without control characters, at most _MAX_NAME characters long."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_MAX_NAME])
