"""Added usage is within limits, and usage that cannot be reclaimed is within quota, at every level."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tenure.v1 import snapshot_pb2

from tests.checker.amounts import queue_usage
from tests.checker.cores import non_preemptible_pods
from tests.checker.rules.claims import claimed_gpus
from tests.checker.snapshot_index import OCCUPYING, SnapshotIndex

UNLIMITED = -1
Use = dict[str, Counter[str]]
"""Amounts of cpu, memory and gpu by queue name."""


def queue_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check only queues and resources with added usage; earlier excess is not a violation of the response."""
    placed = {stay.pod: stay.node for stay in (*world.binds, *world.reserves)}
    staying = {
        pod.uid: pod.node
        for pod in world.snapshot.pods
        if pod.status in OCCUPYING and pod.uid not in world.victims
    }
    total, added = _usage(world, {**staying, **placed}.items()), _usage(world, placed.items(), staying)
    yield from _over(world, "limit", total, added)
    firm, firm_before = (
        _non_preemptible_usage(world, {**staying, **placed}),
        _non_preemptible_usage(world, staying),
    )
    gained = {name: amounts - firm_before[name] for name, amounts in firm.items()}
    yield from _over(world, "quota", firm, gained)


def _over(world: SnapshotIndex, bound: str, total: Use, added: Use) -> Iterator[str]:
    who = "non-preemptible use" if bound == "quota" else "use"
    for name in sorted(added):
        for resource, amount in sorted(total[name].items()):
            most = bound_of(world.queues[name], resource, bound)
            if most != UNLIMITED and added[name][resource] > 0 and amount > most:
                yield f"queue: {who} of {resource} in {name} is {amount}, over its {bound} of {most}"


def bound_of(queue: snapshot_pb2.Queue, resource: str, bound: str) -> int:
    """The quota or the limit of a queue; -1 without one."""
    field = {"cpu": "cpu_milli", "memory": "memory_bytes", "gpu": "gpu_milli"}[resource]
    share: snapshot_pb2.QueueResource = getattr(queue, field)
    if not queue.HasField(field) or (bound == "limit" and not share.HasField("limit")):
        return UNLIMITED
    return share.limit if bound == "limit" else share.quota


def _usage(world: SnapshotIndex, places: Iterable[tuple[str, str]], already: Iterable[str] = ()) -> Use:
    """Return the usage of these pods; claims of pods that are present already are not charged again."""
    use: Use = defaultdict(Counter)
    places = list(places)
    for pod, node in places:
        _charge(world, use, world.group_of(pod).queue, queue_usage(world.shape_of(pod), world.nodes[node]))
    for queue, gpu_milli in claimed_gpus(world, [pod for pod, _ in places], already).items():
        _charge(world, use, queue, Counter(gpu=gpu_milli))
    return use


def _charge(world: SnapshotIndex, use: Use, queue: str, amounts: Counter[str]) -> None:
    while queue in world.queues:
        use[queue].update(amounts)
        queue = world.queues[queue].parent


def _non_preemptible_usage(world: SnapshotIndex, places: Mapping[str, str]) -> Use:
    """Return the usage of pods that other queues cannot reclaim."""
    return _usage(world, [(pod, places[pod]) for pod in non_preemptible_pods(world, places)])
