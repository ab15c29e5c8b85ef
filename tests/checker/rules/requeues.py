"""Requeues: only past the expected runtime, only for higher priority, with decision and nomination."""

import re
from collections.abc import Iterator
from typing import Final

from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decision_pb2 import (
    NOMINATION_RESULT_REQUEUED,
    NOMINATION_RESULT_SKIPPED,
    NOMINATION_RESULT_UNSPECIFIED,
)

from tests.checker.losses import guarded_losses
from tests.checker.snapshot_index import SnapshotIndex

ACTION: Final = "requeue"
ANNOTATION: Final = "kai.scheduler/expected-runtime"
UNITS: Final = {
    "w": 604_800,
    "d": 86_400,
    "h": 3_600,
    "m": 60,
    "s": 1,
    "ms": 1e-3,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "ns": 1e-9,
}
"""Seconds per unit."""
NUMBER: Final = r"\d+\.?\d*|\.\d+"


def requeue_violations(world: SnapshotIndex) -> Iterator[str]:
    """Report requeues and evictions that do not match, early requeues and contradictory nominations."""
    losses = {
        (loss.group.beneficiary, loss.victim.uid)
        for loss in guarded_losses(world)
        if loss.group.action == ACTION
    }
    requeues = {(step.contender, step.pod_group) for step in world.requeues}
    for contender, uid in sorted(losses - requeues):
        yield f"requeue: {uid} loses pods to {contender}, and nobody says that it is requeued"
    for contender, uid in sorted(requeues - losses):
        yield f"requeue: {uid} is requeued for {contender}, which takes no pod of it"
    for step in world.requeues:
        if step.pod_group in world.pod_groups:
            for problem in _problems(world, step):
                yield f"requeue: {step.pod_group} {problem}"
    yield from _nominations(world)


def _problems(world: SnapshotIndex, step: decision_pb2.Requeue) -> Iterator[str]:
    group, now = world.pod_groups[step.pod_group], world.snapshot.now.ToNanoseconds()
    if not step.nominated_by:
        yield "was nominated by nobody"
    if step.not_before.ToNanoseconds() < now:
        yield "may be requeued again before this requeue"
    if group.HasField("requeue_not_before") and group.requeue_not_before.ToNanoseconds() > now:
        yield "was to be left alone for longer"
    expected = expected_runtime_s(world, group)
    start = group.last_start_time.ToNanoseconds()
    if expected <= 0 or not group.HasField("last_start_time") or now < start + expected * 10**9:
        yield "is not beyond its expected runtime"


def _nominations(world: SnapshotIndex) -> Iterator[str]:
    nominations = list(world.response.nominations)
    uids = [nomination.pod_group for nomination in nominations]
    if uids != sorted(set(uids)):
        yield f"nomination: {uids} are not in order, each once"
    for nomination in nominations:
        for problem in _nomination_problems(world, nomination):
            yield f"nomination: {nomination.pod_group} {problem}"
    requeued = {_nomination_facts(each) for each in nominations if each.result == NOMINATION_RESULT_REQUEUED}
    if requeued != {_nomination_facts(step) for step in world.requeues}:
        yield "nomination: those that are requeued are not those of the requeue steps"


def _nomination_problems(world: SnapshotIndex, nomination: decision_pb2.Nomination) -> Iterator[str]:
    if nomination.pod_group not in world.pod_groups:
        yield "is not in the snapshot"
    if nomination.result == NOMINATION_RESULT_UNSPECIFIED:
        yield "has no result"
    if nomination.result == NOMINATION_RESULT_SKIPPED and not nomination.skip_reason:
        yield "is skipped without a reason"
    if not nomination.reason.message:
        yield "gives no reason"


def _nomination_facts(message: decision_pb2.Nomination | decision_pb2.Requeue) -> tuple[object, ...]:
    return (
        message.pod_group,
        message.contender,
        message.not_before.ToNanoseconds(),
        tuple(message.nominated_by),
    )


def expected_runtime_s(world: SnapshotIndex, group: snapshot_pb2.PodGroup) -> float:
    """Return the expected runtime in seconds: the field, the annotation or the nearest queue; 0: none."""
    if group.HasField("expected_runtime"):
        return group.expected_runtime.ToNanoseconds() / 10**9
    if ANNOTATION in group.annotations:
        return _seconds(group.annotations[ANNOTATION].strip())
    queue = group.queue
    while queue in world.queues:
        if world.queues[queue].HasField("expected_runtime"):
            return world.queues[queue].expected_runtime.ToNanoseconds() / 10**9
        queue = world.queues[queue].parent
    return 0


def _seconds(text: str) -> float:
    units = "|".join(sorted(UNITS, key=len, reverse=True))
    if not re.fullmatch(rf"\+?((?:{NUMBER})({units}))+", text):
        return 0
    return sum(float(amount) * UNITS[unit] for amount, unit in re.findall(rf"({NUMBER})({units})", text))
