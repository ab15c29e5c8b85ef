"""Queues of KAI, in its units (semantics R1.11, R1.12, R1.70 to R1.74), and of Volcano, as one tree."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from google.protobuf.duration_pb2 import Duration
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.limits.set_aside import SET_ASIDE, SetAsideTable, unexpected
from tenure.kubernetes.limits.user_queues import TeamQueues
from tenure.kubernetes.objects import kai, volcano
from tenure.kubernetes.objects.meta import ObjectMeta, ObjectReference, cluster_reference
from tenure.kubernetes.objects.resource_amounts import CPU, GPU, MEMORY, Amounts, read_amounts
from tenure.kubernetes.objects.times import FOREVER, read_duration, timestamp
from tenure.kubernetes.observe.annotations.fields import OF_QUEUES, read_fields
from tenure.kubernetes.observe.annotations.queue_bounds import bounds_of_users, set_bounds
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.rows.row_table import WarningCollector
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits

KAI_QUEUES, VOLCANO_QUEUES = "scheduling.run.ai/v2", "scheduling.volcano.sh/v1beta1"
"""API versions of queues."""
_NO_PATH: Final = ("NoPathToTop", "Its parent does not exist, or is part of a cycle.")
_SHADOWED: Final = ("SameName", "A KAI queue with the same name has precedence.")


class QueueObject(NamedTuple):
    """A queue of the node pool."""

    target: ObjectReference
    children: tuple[str, ...]
    """Names of its children, in order."""
    problem: tuple[str, str]
    """Reason in camel case, and a sentence, if it has no row; else two empty texts."""


def queue_objects(
    caches: ObjectCaches, scope: SnapshotScope, rows: Collection[str], aside: SetAsideTable
) -> Iterator[QueueObject]:
    """Queues whose status an adapter writes. `rows` are names.

    A queue of Volcano belongs to all node pools: only the adapter of the default pool writes its status.
    """
    kai = [queue for queue in caches.kai_queues.all() if scope.has(queue.metadata.labels)]
    volcano = [] if scope.node_pool else caches.volcano_queues.all()
    children: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for queue in kai:
        children[KAI_QUEUES, queue.spec.parent_queue].append(queue.metadata.name)
    of_kai = {queue.metadata.name for queue in kai}
    found: list[tuple[str, ObjectMeta, bool]] = [(KAI_QUEUES, queue.metadata, False) for queue in kai]
    found += [(VOLCANO_QUEUES, one.metadata, one.metadata.name in of_kai) for one in volcano]
    for version, meta, is_shadowed in found:
        problem = ("", "")
        if (set_aside := aside.objects.get(f"queue {meta.uid}")) is not None:
            problem = (SET_ASIDE, set_aside.reason.text)
        elif is_shadowed:
            problem = _SHADOWED
        elif meta.name not in rows:
            problem = _NO_PATH
        names = tuple(sorted(children[version, meta.name]))
        yield QueueObject(cluster_reference(version, "Queue", meta), names, problem)


def queue_references(caches: ObjectCaches) -> Iterator[ObjectReference]:
    """References to all queues, of all node pools."""
    for version, cache in ((KAI_QUEUES, caches.kai_queues), (VOLCANO_QUEUES, caches.volcano_queues)):
        for queue in cache.all():
            yield cluster_reference(version, "Queue", queue.metadata)


def build_queue_rows(
    caches: ObjectCaches, config: SnapshotScope, warnings: WarningCollector, limits: SenderLimits
) -> tuple[TeamQueues, dict[str, str]]:
    """All queues, and why others are set aside, by uid.

    KAI queues have precedence. A queue without a path to the top is omitted.
    """
    rows: dict[str, pb.Queue] = {}
    set_aside: dict[str, str] = {}
    bounds: dict[str, pb.Queue] = {}
    seen: list[tuple[ObjectMeta, list[str]]] = []

    def add(meta: ObjectMeta, build: Callable[[], pb.Queue], texts: list[str]) -> None:
        try:
            row = build()
            problem = limits.problem(row)
        except Exception as error:  # an object with invalid values must not stop the others
            problem = unexpected(error)
        if problem:
            set_aside[meta.uid] = problem
        else:
            rows[meta.name] = row
            if config.user_queues.has(meta.name):
                bounds[meta.name] = bounds_of_users(row, meta.annotations, texts)

    for queue in caches.kai_queues.all():
        if config.has(queue.metadata.labels):
            texts: list[str] = []
            add(queue.metadata, partial(kai_queue_row, queue, texts), texts)
            seen.append((queue.metadata, texts))
    of_volcano = caches.volcano_queues.all()
    has_root = any(one.metadata.name == ROOT for one in of_volcano)
    of_kai = frozenset(rows)
    for volcano_queue in of_volcano:
        texts = []
        seen.append((volcano_queue.metadata, texts))
        if volcano_queue.metadata.name in of_kai:
            texts.append("a KAI queue with the same name has precedence")
        else:
            add(volcano_queue.metadata, partial(volcano_queue_row, volcano_queue, has_root, texts), texts)
    known = drop_orphans(list(rows.values()))
    for meta, texts in seen:
        if meta.uid in set_aside:
            texts.append(f"set aside: {set_aside[meta.uid]}")
        elif meta.name not in known:
            texts.append("its parent does not exist or is part of a cycle: the queue is omitted")
        warnings.replace(meta.uid, f"Queue {meta.name}", texts)
    leaves = frozenset(known.keys() - {row.parent for row in known.values()})
    return TeamQueues(known, leaves, bounds), set_aside


UNLIMITED: Final = -1
MAX_DEPTH: Final = 32
"""Maximum depth of the queue tree."""
ROOT: Final = "root"
"""Name of Volcano's root queue."""
_MOST: Final = 2**62
_MOST_WEIGHT: Final = 1e9
_CPU_UNIT: Final = 1
_MEMORY_UNIT: Final = 1_000_000
_GPU_UNIT: Final = 1000
_PRIORITIES: Final = range(-(2**31), 2**31)


def kai_queue_row(queue: kai.Queue, warnings: list[str]) -> pb.Queue:
    """The row of a KAI queue."""
    spec = queue.spec
    row = pb.Queue(
        name=queue.metadata.name,
        parent=spec.parent_queue,
        creation_time=timestamp(queue.metadata.creation_timestamp),
        cpu_milli=_share(spec.resources.cpu, _CPU_UNIT),
        memory_bytes=_share(spec.resources.memory, _MEMORY_UNIT),
        gpu_milli=_share(spec.resources.gpu, _GPU_UNIT),
        preempt_min_runtime=_min_runtime("preemptMinRuntime", spec.preempt_min_runtime, warnings),
        reclaim_min_runtime=_min_runtime("reclaimMinRuntime", spec.reclaim_min_runtime, warnings),
    )
    read_fields(row, OF_QUEUES, queue.metadata.annotations, warnings)
    set_bounds(row, queue.metadata.annotations, warnings)
    if spec.priority is not None and spec.priority in _PRIORITIES:
        row.priority = spec.priority
    return row


def volcano_queue_row(queue: volcano.Queue, has_root: bool, warnings: list[str]) -> pb.Queue:
    """The row of a Volcano queue: deserved or guaranteed is its quota, capability its limit.

    `has_root` is whether queue `root` exists; it is the parent of queues without one, and has no bounds. A
    queue that is not reclaimable is protected for the longest possible time.
    """
    spec = queue.spec
    top = queue.metadata.name == ROOT or not has_root
    row = pb.Queue(
        name=queue.metadata.name,
        parent=spec.parent or ("" if top else ROOT),
        creation_time=timestamp(queue.metadata.creation_timestamp),
        reclaim_min_runtime=None if spec.reclaimable else FOREVER,
    )
    read_fields(row, OF_QUEUES, queue.metadata.annotations, warnings)
    if row.name == ROOT and has_root:
        row.parent = ""
        row.ClearField("max_running")
        return row
    deserved, guaranteed = (
        read_amounts(spec.deserved, warnings),
        read_amounts(spec.guarantee.resource, warnings),
    )
    capability = read_amounts(spec.capability, warnings)
    for name, field in ((CPU, row.cpu_milli), (MEMORY, row.memory_bytes), (GPU, row.gpu_milli)):
        _fill(field, max(deserved.get(name, 0), guaranteed.get(name, 0)), _limit(capability, spec, name))
        field.over_quota_weight = min(max(float(spec.weight), 0.0), _MOST_WEIGHT)
    set_bounds(row, queue.metadata.annotations, warnings)
    if spec.priority is not None and spec.priority in _PRIORITIES:
        row.priority = spec.priority
    return row


def drop_orphans(rows: Sequence[pb.Queue]) -> dict[str, pb.Queue]:
    """Queues with existing ancestors, by name (R1.74); cycles are omitted."""
    known: dict[str, pb.Queue] = {}
    level = {""}
    for _ in range(MAX_DEPTH):
        found = [row for row in rows if row.parent in level and row.name not in known]
        known.update((row.name, row) for row in found)
        level = {row.name for row in found}
    return known


def _share(resource: kai.QueueResource, unit: int) -> pb.QueueResource:
    return pb.QueueResource(
        quota=_amount(resource.quota, unit),
        limit=_amount(resource.limit, unit),
        over_quota_weight=min(max(resource.over_quota_weight, 0.0), _MOST_WEIGHT),
    )


def _amount(value: float, unit: int) -> int:
    """An amount in units of the snapshot; a negative one is unlimited."""
    return UNLIMITED if value < 0 else round(min(value * unit, float(_MOST)))


def _fill(field: pb.QueueResource, quota: int, limit: int) -> None:
    field.quota, field.limit = quota, limit


def _limit(capability: Amounts, spec: volcano.QueueSpec, name: str) -> int:
    """Unlimited unless the queue names the resource."""
    return capability.get(name, 0) if _names(spec.capability, name) else UNLIMITED


def _names(quantities: Mapping[str, object], name: str) -> bool:
    return any(key == name or (name == GPU and key.endswith(GPU)) for key in quantities)


def _min_runtime(field: str, text: str | None, warnings: list[str]) -> Duration | None:
    """A duration; None inherits. An unreadable or too long one protects for the longest possible time.

    A negative one counts as 0 (semantics R7.4).
    """
    if text is None:
        return None
    span = read_duration(text)
    if span is None:
        warnings.append(f"{field}: {text!r} is not a duration: pod groups of the queue are protected")
        return FOREVER
    if span.ToNanoseconds() < 0:
        warnings.append(f"{field}: {text!r} is negative: it counts as 0")
        return Duration()
    return span
