"""Every pod group with pending pods has exactly one outcome."""

from collections import Counter
from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.checker.snapshot_index import SnapshotIndex


def outcome_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report missing, repeated and needless outcomes, and counts that contradict the decisions."""
    pending = Counter(
        pod.pod_group for pod in world.snapshot.pods if pod.status == snapshot_pb2.POD_STATUS_PENDING
    )
    outcome_counts = Counter(outcome.pod_group for outcome in world.response.outcomes)
    for uid in sorted(pending.keys() | outcome_counts.keys()):
        wanted = int(uid in pending)
        if outcome_counts[uid] != wanted:
            yield f"outcome: pod group {uid} has {outcome_counts[uid]} outcomes, not {wanted}"
    yield from _wrong_counts(world, pending)


def _wrong_counts(world: SnapshotIndex, pending: Counter[str]) -> Iterator[str]:
    bound = Counter(world.pods[stay.pod].pod_group for stay in world.binds)
    waiting = [world.pods[stay.pod] for stay in world.reserves if stay.pod not in world.victims]
    held = Counter(pod.pod_group for pod in waiting if pod.status == snapshot_pb2.POD_STATUS_PENDING)
    for outcome in world.response.outcomes:
        uid = outcome.pod_group
        actual = (bound[uid], held[uid], pending[uid] - bound[uid] - held[uid])
        counts = (outcome.bound, outcome.reserved, outcome.pending)
        if counts != actual:
            yield f"outcome: pod group {uid} says (bound, held, pending) {counts}, the decisions say {actual}"
        if not outcome.reason.code or not outcome.reason.message:
            yield f"outcome: pod group {uid} gives no reason"
