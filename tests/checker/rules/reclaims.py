"""Queues that lose pods to a reclaim have more than they may keep from the queue that gets them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tenure.v1 import decide_pb2, decision_pb2, snapshot_pb2

from tests.checker.amounts import queue_usage
from tests.checker.rules.queues import UNLIMITED, bound_of
from tests.checker.snapshot_index import SnapshotIndex

RESOURCES = {"cpu": "cpu_milli", "memory": "memory_bytes", "gpu": "gpu_milli"}


class ReclaimRights(NamedTuple):
    """Arguments of `proportion` in the profile of the response."""

    by_priority: bool = False
    """`queuePriorityInQuotaReclaim`."""
    steady: Mapping[str, int] | None = None
    """With `steadyFairShareReclaim`: the steady share of GPUs of each queue, in thousandths."""


class _Places(NamedTuple):
    """What one decision group evicts for good, and what it places, by pod."""

    lost: frozenset[str]
    left: Mapping[str, str]
    """Nodes that evicted pods leave, relocated ones included."""
    taken: Mapping[str, str]


def reclaim_violations(world: SnapshotIndex, rights: ReclaimRights) -> Iterator[str]:
    """Check the first loss of each queue in each reclaim. Snapshots with claims or groups in flight, whose
    use of queues is counted otherwise, are left out, and responses that say nothing of a queue.
    """
    stated = {status.name for status in world.response.queues}
    if world.claims or world.snapshot.in_flight_groups or not world.queues.keys() <= stated:
        return
    fair = {status.name: _amounts(status.fair_share) for status in world.response.queues}
    used = {status.name: _amounts(status.allocated_before) for status in world.response.queues}
    for group in world.response.groups:
        places = _places(world, group)
        beneficiary = world.pod_groups.get(group.beneficiary)
        if group.action == "reclaim" and beneficiary is not None and beneficiary.queue in world.queues:
            request = Counter[str]()
            for pod, node in places.taken.items():
                if world.pods[pod].pod_group == group.beneficiary:
                    request.update(queue_usage(world.shape_of(pod), world.nodes[node]))
            losing = {world.group_of(pod).queue for pod in places.lost} - {beneficiary.queue}
            for queue in sorted(losing):
                if not _may_lose(world, rights, fair, used, (beneficiary.queue, queue), request):
                    yield f"reclaim: queue {queue} loses pods to {group.beneficiary}, and may keep them"
        for pods, sign in ((places.left, -1), (places.taken, 1)):
            for pod, node in pods.items():
                amounts = queue_usage(world.shape_of(pod), world.nodes[node])
                for queue in _path(world, world.group_of(pod).queue):
                    for resource, amount in amounts.items():
                        used[queue][resource] += sign * amount


def _may_lose(
    world: SnapshotIndex,
    rights: ReclaimRights,
    fair: Mapping[str, Counter[str]],
    used: Mapping[str, Counter[str]],
    queues: tuple[str, str],
    request: Counter[str],
) -> bool:
    mine, theirs = _parting(world, *queues)
    own, other = world.queues[mine], world.queues[theirs]
    within = not any(_exceeds(used[mine][r] + request[r], bound_of(own, r, "quota")) for r in RESOURCES)
    if any(_exceeds(used[theirs][r], _kept(other, r, fair[theirs][r])) for r in RESOURCES):
        return True
    if within and any(_exceeds(used[theirs][r], bound_of(other, r, "quota")) for r in RESOURCES):
        return True
    if rights.by_priority and within and own.priority > other.priority:
        return True
    if rights.steady is None or not request["gpu"]:
        return False
    kept, owed = (_kept(queue, "gpu", rights.steady[queue.name]) for queue in (other, own))
    return _exceeds(used[theirs]["gpu"], kept) and used[mine]["gpu"] < owed


def _kept(queue: snapshot_pb2.Queue, resource: str, fair: int) -> int:
    quota, limit = (bound_of(queue, resource, bound) for bound in ("quota", "limit"))
    if UNLIMITED in (quota, limit):
        return limit if quota == UNLIMITED else max(quota, fair)
    return min(max(quota, fair), limit)


def _exceeds(amount: int, bound: int) -> bool:
    return bound != UNLIMITED and amount > bound


def _parting(world: SnapshotIndex, one: str, other: str) -> tuple[str, str]:
    """The queues of both paths at the first level at which these differ."""
    pairs = list(zip(_path(world, one), _path(world, other), strict=False))
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def _path(world: SnapshotIndex, queue: str) -> list[str]:
    """From the root to the queue."""
    found: list[str] = []
    while queue in world.queues:
        found.append(queue)
        queue = world.queues[queue].parent
    return found[::-1]


def _places(world: SnapshotIndex, group: decision_pb2.DecisionGroup) -> _Places:
    lost, left, taken = set[str](), dict[str, str](), dict[str, str]()
    for step in group.decisions:
        kind = step.WhichOneof("kind")
        if kind == "evict" and step.evict.pod in world.pods:
            left[step.evict.pod] = world.pods[step.evict.pod].node
            if not step.evict.relocating or "consolidation" in world.group_of(step.evict.pod).opt_out_actions:
                lost.add(step.evict.pod)
        elif kind in ("bind", "reserve"):
            stay = getattr(step, kind)
            if stay.pod in world.pods and stay.node in world.nodes:
                taken[stay.pod] = stay.node
    return _Places(frozenset(lost), left, taken)


def _amounts(share: decide_pb2.ResourceShare) -> Counter[str]:
    return Counter({name: getattr(share, field) for name, field in RESOURCES.items()})
