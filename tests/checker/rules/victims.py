"""Which pod groups can be evicted, and by which actions and preemptors."""

from collections.abc import Iterator

from tenure.v1 import snapshot_pb2
from tenure.v1.snapshot_pb2 import (
    PREEMPTIBILITY_NON_PREEMPTIBLE,
    PREEMPTIBILITY_PREEMPTIBLE,
    PREEMPTIBILITY_SEMI_PREEMPTIBLE,
    PREEMPTIBILITY_UNSPECIFIED,
)

from tests.checker.losses import PodGroupLoss, guarded_losses
from tests.checker.snapshot_index import SnapshotIndex

LEGACY_NON_PREEMPTIBLE_PRIORITY = 100

ANNOTATION = "kai.scheduler/preemptibility"
MODES = {
    "preemptible": PREEMPTIBILITY_PREEMPTIBLE,
    "non-preemptible": PREEMPTIBILITY_NON_PREEMPTIBLE,
    "nonpreemptible": PREEMPTIBILITY_NON_PREEMPTIBLE,
    "semi-preemptible": PREEMPTIBILITY_SEMI_PREEMPTIBLE,
    "semipreemptible": PREEMPTIBILITY_SEMI_PREEMPTIBLE,
}
"""Preemptibility by the lower-case annotation value; any other value is non-preemptible."""


def victim_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report victims that are not preemptible and victims that the action must not evict."""
    for loss in guarded_losses(world):
        for problem in _problems(world, loss):
            yield f"victim: {loss}, {problem}"


def _problems(world: SnapshotIndex, loss: PodGroupLoss) -> Iterator[str]:
    victim, action = loss.victim, loss.group.action
    mode = preemptibility_of(victim)
    if mode == PREEMPTIBILITY_NON_PREEMPTIBLE:
        yield "which is not preemptible"
    if mode == PREEMPTIBILITY_SEMI_PREEMPTIBLE and loss.breaks_minimum:
        yield "the minimum of which is not preemptible"
    if action in victim.opt_out_actions:
        yield "which opts out of that"
    beneficiary = world.pod_groups.get(loss.group.beneficiary)
    if beneficiary is not None:
        yield from _rights(action, beneficiary, victim)


def _rights(action: str, beneficiary: snapshot_pb2.PodGroup, victim: snapshot_pb2.PodGroup) -> Iterator[str]:
    same_queue = victim.queue == beneficiary.queue
    if action == "reclaim" and same_queue:
        yield f"which is of its own queue {victim.queue}"
    if action == "preempt" and not same_queue:
        yield f"which is of another queue, {victim.queue}"
    if action in ("preempt", "requeue") and victim.priority >= beneficiary.priority:
        priority = beneficiary.priority
        yield f"of priority {victim.priority}, for {beneficiary.uid} of priority {priority}"


def preemptibility_of(group: snapshot_pb2.PodGroup) -> int:
    """Return the field, else the annotation, else the class by priority: below 100 is preemptible."""
    if group.preemptibility != PREEMPTIBILITY_UNSPECIFIED:
        return group.preemptibility
    text = group.annotations.get(ANNOTATION, "").strip().lower()
    if text:
        return MODES.get(text, PREEMPTIBILITY_NON_PREEMPTIBLE)
    is_high = group.priority >= LEGACY_NON_PREEMPTIBLE_PRIORITY
    return PREEMPTIBILITY_NON_PREEMPTIBLE if is_high else PREEMPTIBILITY_PREEMPTIBLE
