"""Actions that respect min-runtime protection evict no pod group before its minimum runtime."""

from collections.abc import Iterator
from dataclasses import dataclass

from tenure.v1 import snapshot_pb2

from tests.checker.losses import PodGroupLoss, guarded_losses
from tests.checker.snapshot_index import SnapshotIndex

EVICTING = ("reclaim", "preempt", "consolidation", "requeue")
"""Actions that evict pod groups which run as specified."""


@dataclass(frozen=True, slots=True)
class RuntimeGuards:
    """Arguments of the minruntime plugin; durations in nanoseconds."""

    default_preempt: int = 0
    default_reclaim: int = 0
    most: int = 0
    """Longest minimum runtime that pod groups may set for themselves, if no queue says so."""
    reclaim_method: str = "lca"
    """`lca`: from below the deepest common queue upwards; `queue`: from the victim's leaf upwards."""
    actions: tuple[str, ...] = EVICTING


def runtime_violations(world: SnapshotIndex, guards: RuntimeGuards) -> Iterator[str]:
    """A protected pod group keeps its core: a gang all of its pods, other pod groups their minimum."""
    for loss in guarded_losses(world):
        if loss.group.action not in guards.actions or not loss.breaks_minimum:
            continue
        if _is_within_minimum(world, loss.victim, _minimum_runtime(world, guards, loss)):
            yield f"runtime: {loss}, which has not run for its minimum"


def _is_within_minimum(world: SnapshotIndex, victim: snapshot_pb2.PodGroup, minimum: int) -> bool:
    if not victim.HasField("last_start_time"):
        return False
    return world.snapshot.now.ToNanoseconds() < victim.last_start_time.ToNanoseconds() + minimum


def _minimum_runtime(world: SnapshotIndex, guards: RuntimeGuards, loss: PodGroupLoss) -> int:
    """Return the minimum runtime of the victim against this beneficiary, in nanoseconds."""
    path = _path(world, loss.victim.queue)
    most = _first_set("max_min_runtime", reversed(path), guards.most)
    own = min(loss.victim.min_runtime.ToNanoseconds(), most)
    return max(own, _of_queue(world, guards, loss, path))


def _of_queue(
    world: SnapshotIndex, guards: RuntimeGuards, loss: PodGroupLoss, path: list[snapshot_pb2.Queue]
) -> int:
    beneficiary = world.pod_groups[loss.group.beneficiary]
    within = loss.group.action != "reclaim" and beneficiary.queue == loss.victim.queue
    if loss.group.action == "preempt" or within:
        return _first_set("preempt_min_runtime", reversed(path), guards.default_preempt)
    if guards.reclaim_method == "lca":
        path = _down_to_divergence(path, _path(world, beneficiary.queue))
    return _first_set("reclaim_min_runtime", reversed(path), guards.default_reclaim)


def _down_to_divergence(
    victim: list[snapshot_pb2.Queue], reclaimer: list[snapshot_pb2.Queue]
) -> list[snapshot_pb2.Queue]:
    """Return the victim's path from the top queue to the one below the deepest common queue."""
    common = 0
    for ours, theirs in zip(victim, reclaimer, strict=False):
        if ours.name != theirs.name:
            break
        common += 1
    return victim[: common + 1]


def _path(world: SnapshotIndex, queue: str) -> list[snapshot_pb2.Queue]:
    """Return the queues from the top-level queue down to this one."""
    path: list[snapshot_pb2.Queue] = []
    while queue:
        path.insert(0, world.queues[queue])
        queue = world.queues[queue].parent
    return path


def _first_set(field: str, queues: Iterator[snapshot_pb2.Queue], default: int) -> int:
    for queue in queues:
        if queue.HasField(field):
            return int(getattr(queue, field).ToNanoseconds())
    return default
