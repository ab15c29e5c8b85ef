"""Ids are unique, decisions refer to existing objects, and each pod has at most one decision of a kind."""

from collections import Counter
from collections.abc import Iterator

from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.snapshot_index import OCCUPYING, SnapshotIndex

LEAVES = (snapshot_pb2.POD_STATUS_RELEASING, snapshot_pb2.POD_STATUS_STUCK_IN_RELEASING)
"""Statuses of a relocated pod with a reservation of an in-flight group."""


def identity_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report repeated ids, unknown names, and decisions that do not match the pod's status."""
    groups = world.response.groups
    steps = [step for group in groups for step in group.decisions]
    yield from _repeated("group id", [group.id for group in groups])
    yield from _repeated("decision id", [step.id for step in steps])
    for group in groups:
        if not group.decisions:
            yield f"identity: group {group.id} of {group.action} has no decisions"
    for kind in ("bind", "evict", "reserve"):
        parts = [getattr(step, kind) for step in steps if step.WhichOneof("kind") == kind]
        yield from _repeated(kind, [part.pod for part in parts])
        for part in parts:
            yield from _unknown(world, kind, part)
    yield from _repeated("bind or hold", [stay.pod for stay in (*world.binds, *world.reserves)])
    yield from _wrong_status(world)


def _repeated(what: str, values: list[str]) -> Iterator[str]:
    for value, count in sorted(Counter(values).items()):
        if count > 1 or not value:
            yield f"identity: {what} {value!r} appears {count} times"


def _unknown(
    world: SnapshotIndex, kind: str, part: decision_pb2.Bind | decision_pb2.Evict | decision_pb2.Reserve
) -> Iterator[str]:
    if part.pod not in world.pods:
        yield f"identity: {kind} of pod {part.pod!r}, which is not in the snapshot"
    if part.node not in world.nodes:
        yield f"identity: {kind} of pod {part.pod} names node {part.node!r}, which is not in the snapshot"


def _wrong_status(world: SnapshotIndex) -> Iterator[str]:
    for stay in world.binds:
        if world.pods[stay.pod].status != snapshot_pb2.POD_STATUS_PENDING:
            yield f"identity: pod {stay.pod} is bound, but was not pending"
    for stay in world.reserves:
        pending = world.pods[stay.pod].status == snapshot_pb2.POD_STATUS_PENDING
        leaves = stay.pod in world.in_flight and world.pods[stay.pod].status in LEAVES
        if not (pending or leaves) and stay.pod not in world.victims:
            yield f"identity: pod {stay.pod} is held, but was neither pending nor evicted"
    for _, evict in world.evictions:
        pod = world.pods[evict.pod]
        if pod.status not in OCCUPYING or pod.node != evict.node:
            yield f"identity: pod {evict.pod} is evicted from {evict.node}, but does not run there"
