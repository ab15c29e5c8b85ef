"""Resource claims: one node for all pods of a claim, devices counted once, its queue and its consumers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tenure.v1 import snapshot_pb2

from tests.checker.snapshot_index import PodPlacement, SnapshotIndex

MOST_CONSUMERS = 256


def claim_violations(world: SnapshotIndex) -> Iterator[str]:
    """Check the claims of pods that are bound or have a reservation."""
    gaining = {
        claim for stay in (*world.binds, *world.reserves) for claim in world.pods[stay.pod].resource_claims
    }
    for when, stays in (("now", world.present_now()), ("after the evictions", world.present_later())):
        users: dict[str, list[PodPlacement]] = defaultdict(list)
        for stay in stays:
            for claim in world.pods[stay.pod].resource_claims:
                users[claim].append(stay)
        for name in sorted(gaining & users.keys()):
            for problem in _problems(world.claims[name], users[name]):
                yield f"claim: {name} {when}: {problem}"
    yield from _wrong_queues(world)


def claimed_devices(world: SnapshotIndex, node: str, stays: Iterable[PodPlacement]) -> Counter[str]:
    """Count the devices of the node that claims use, both those of these pods and those of other pods."""
    names = {claim for stay in stays for claim in world.pods[stay.pod].resource_claims}
    names |= {claim.id for claim in world.snapshot.resource_claims if claim.node == node}
    total: Counter[str] = Counter()
    for name in names:
        total.update(devices_of({r.device_class: r.count for r in world.claims[name].requests}))
    return total


def devices_of(classes: dict[str, int]) -> Counter[str]:
    """Count devices by class; GPUs count as GPUs too."""
    total: Counter[str] = Counter()
    for name, count in classes.items():
        total[f"devices of {name}"] += count
        total["gpu devices"] += count if "gpu" in name else 0
    return total


def claimed_gpus(world: SnapshotIndex, pods: Iterable[str], already: Iterable[str]) -> dict[str, int]:
    """Return the GPU milli of the claims of these pods by the queue that is charged, each claim once.

    Claims that pods of `already` use are excluded.
    """
    by_queue: dict[str, int] = defaultdict(int)
    charged = {claim for pod in already for claim in world.pods[pod].resource_claims}
    for pod in pods:
        for name in set(world.pods[pod].resource_claims) - charged:
            charged.add(name)
            claim = world.claims[name]
            gpus = devices_of({r.device_class: r.count for r in claim.requests})["gpu devices"]
            if not claim.node:
                by_queue[claim.queue or world.group_of(pod).queue] += 1000 * gpus
    return by_queue


def _problems(claim: snapshot_pb2.ResourceClaim, users: list[PodPlacement]) -> Iterator[str]:
    nodes = {stay.node for stay in users} | ({claim.node} if claim.node else set())
    if len(nodes) > 1:
        yield f"it is used on {len(nodes)} nodes: {', '.join(sorted(nodes))}"
    if len(users) + claim.other_consumers > MOST_CONSUMERS:
        yield f"{len(users) + claim.other_consumers} pods use it"


def _wrong_queues(world: SnapshotIndex) -> Iterator[str]:
    for stay in (*world.binds, *world.reserves):
        pod, queue = world.pods[stay.pod], world.group_of(stay.pod).queue
        if pod.blocked_reason and pod.status == snapshot_pb2.POD_STATUS_PENDING:
            yield f"claim: pod {stay.pod} is placed though it is blocked by: {pod.blocked_reason}"
        for claim in (world.claims[name] for name in pod.resource_claims):
            is_gpu = any("gpu" in request.device_class for request in claim.requests)
            if is_gpu and not claim.from_template and claim.queue != queue:
                yield f"claim: pod {stay.pod} of queue {queue} uses {claim.id} of queue {claim.queue!r}"
