"""Nobody is evicted by preempt or reclaim before it has run for its minimum."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tenure.v1 import snapshot_pb2

from tests.verify.gangs import minimum_of, part_of
from tests.verify.world import Eviction, World


@dataclass(frozen=True, slots=True)
class RuntimeGuards:
    """Arguments of the minruntime plugin; durations in nanoseconds."""

    default_preempt: int = 0
    default_reclaim: int = 0
    reclaim_method: str = "lca"
    """`lca`: from below the deepest common queue upwards; `queue`: from the victim's leaf upwards."""


def runtime_violations(world: World, guards: RuntimeGuards) -> Iterator[str]:
    """A protected gang loses no pod, a protected elastic pod group keeps its minimum of every part."""
    for eviction in world.evictions:
        victim = world.group_of(eviction.evict.pod)
        if eviction.group.action not in ("preempt", "reclaim") or not _is_running_time_left(
            world, victim, _minimum_runtime(world, guards, eviction, victim)
        ):
            continue
        part = part_of(world.pods[eviction.evict.pod])
        left, minimum = _left(world, victim)[part], minimum_of(victim, part)
        if not _is_elastic(world, victim) or left < minimum:
            yield (
                f"runtime: {eviction.group.action} evicts pod {eviction.evict.pod} of protected pod group "
                f"{victim.uid}: {left} of {minimum} pods are left"
            )


def _is_running_time_left(world: World, victim: snapshot_pb2.PodGroup, minimum: int) -> bool:
    if not victim.HasField("last_start_time"):
        return False
    return world.snapshot.now.ToNanoseconds() < victim.last_start_time.ToNanoseconds() + minimum


def _minimum_runtime(
    world: World, guards: RuntimeGuards, eviction: Eviction, victim: snapshot_pb2.PodGroup
) -> int:
    """Nanoseconds the victim may run undisturbed by this action and beneficiary."""
    path = _path(world, victim.queue)
    if eviction.group.action == "preempt":
        return _first_set("preempt_min_runtime", reversed(path), guards.default_preempt)
    if guards.reclaim_method == "lca":
        reclaimer = _path(world, world.pod_groups[eviction.group.beneficiary].queue)
        path = _down_to_divergence(path, reclaimer)
    return _first_set("reclaim_min_runtime", reversed(path), guards.default_reclaim)


def _down_to_divergence(
    victim: list[snapshot_pb2.Queue], reclaimer: list[snapshot_pb2.Queue]
) -> list[snapshot_pb2.Queue]:
    """The victim's path from the top to one below the deepest common queue."""
    common = 0
    for ours, theirs in zip(victim, reclaimer, strict=False):
        if ours.name != theirs.name:
            break
        common += 1
    return victim[: common + 1]


def _path(world: World, queue: str) -> list[snapshot_pb2.Queue]:
    """Queues from the top-level queue down to this one."""
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


def _is_elastic(world: World, victim: snapshot_pb2.PodGroup) -> bool:
    """Whether some part has more pods, in any status, than its minimum."""
    known = Counter(part_of(pod) for pod in world.members[victim.uid])
    return any(minimum_of(victim, part) < count for part, count in known.items())


def _left(world: World, victim: snapshot_pb2.PodGroup) -> Counter[str]:
    """Pods of the victim that stay where they are, by part; a moved pod starts over and does not count."""
    staying = world.active_before - world.victims
    return Counter(part_of(pod) for pod in world.members[victim.uid] if pod.uid in staying)
