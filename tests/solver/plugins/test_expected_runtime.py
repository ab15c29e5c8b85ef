"""Nominations for requeue, and reasons for skipping (semantics R12.3, R12.31, R12.63, R12.80)."""

from dataclasses import replace
from typing import Any, Final

import pytest
from tenure.solver.actions.requeue import REQUEUE
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import (
    Nomination,
    NominationResult,
    NominationSkipReason,
    ParsedValue,
    RequeueSettings,
)
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND

from tests.solver.sessions import open_session

MINUTE: Final = 60 * SECOND
BAD: Final = ParsedValue(problem="annotation kai.scheduler/...: 'soon' cannot be read")


def nominations(status: TaskStatus = TaskStatus.RUNNING, queue: Any = None, **job: Any) -> list[Nomination]:
    """Nominations by the plugin for one job on the only node."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", **(queue or {}))
    builder.pods("job", status, node="n" if status.is_active_used else "", queue="q", gpus=1, **job)
    return open_session(builder.build()).chains.nominations(REQUEUE).rows


def only_nomination(**job: Any) -> Nomination:
    (nomination,) = nominations(**job)
    return nomination


DUE: Final = {
    "R12.3 one second before: not due": ("1h0m1s", "1h", False),
    "R12.3 at the very time: due": ("1h", "1h", True),
    "R12.3 after it: due": ("59m", "1h", True),
    "R12.10 days are understood": ("1d", "2d", True),
    "R12.10 days are understood, not yet": ("3d", "2d", False),
}


@pytest.mark.parametrize(("expected", "ran", "is_due"), DUE.values(), ids=DUE)
def test_pod_group_is_due_at_its_expected_runtime(expected: str, ran: str, is_due: bool) -> None:
    found = only_nomination(expected_runtime=expected, started_ago=ran)
    assert found.is_candidate is is_due
    assert (found.result is NominationResult.NOT_DUE) is not is_due


def test_pod_group_not_due_reports_its_due_time() -> None:
    found = only_nomination(expected_runtime="2h", started_ago="30m")
    assert (found.until, found.overrun, found.detail) == (NOW + 90 * MINUTE, 0, "it ends in 1h30m")


def test_due_pod_group_reports_its_overrun() -> None:
    found = only_nomination(expected_runtime="20m", started_ago="30m")
    assert (found.overrun, found.nominated_by) == (10 * MINUTE, ("expectedruntime",))


SKIPS: Final = {
    "invalid duration": ({"requeue": RequeueSettings(BAD)}, NominationSkipReason.INVALID_DURATION),
    "no active pod": (
        {"status": TaskStatus.PENDING, "expected_runtime": "1m"},
        NominationSkipReason.NOT_RUNNING,
    ),
    "R12.52 terminating pods are not active": (
        {"status": TaskStatus.RELEASING, "expected_runtime": "1m"},
        NominationSkipReason.NOT_RUNNING,
    ),
    "R12.57 not preemptible": (
        {"expected_runtime": "1m", "preemptibility": Preemptibility.NON_PREEMPTIBLE},
        NominationSkipReason.NOT_PREEMPTIBLE,
    ),
    "R1.80 not preemptible by its priority": (
        {"expected_runtime": "1m", "priority": 100},
        NominationSkipReason.NOT_PREEMPTIBLE,
    ),
    "it opts out of requeue": (
        {"expected_runtime": "1m", "opt_out_actions": ["requeue"]},
        NominationSkipReason.NOT_PREEMPTIBLE,
    ),
    "missing start": ({"expected_runtime": "1m", "started_ago": None}, NominationSkipReason.MISSING_START),
    "R12.61 cooldown that cannot be read": (
        {"requeue": RequeueSettings(ParsedValue(MINUTE), not_before=BAD)},
        NominationSkipReason.INVALID_NOT_BEFORE,
    ),
    "cooldown": ({"expected_runtime": "1m", "requeue_in": "1s"}, NominationSkipReason.COOLDOWN),
    "R12.63 a bad duration before anything else": (
        {"requeue": RequeueSettings(BAD), "status": TaskStatus.PENDING, "priority": 100},
        NominationSkipReason.INVALID_DURATION,
    ),
    "R12.63 not running before not preemptible": (
        {"status": TaskStatus.PENDING, "expected_runtime": "1m", "priority": 100},
        NominationSkipReason.NOT_RUNNING,
    ),
    "R12.63 not preemptible before missing start": (
        {"expected_runtime": "1m", "priority": 100, "started_ago": None},
        NominationSkipReason.NOT_PREEMPTIBLE,
    ),
}


@pytest.mark.parametrize(("job", "reason"), SKIPS.values(), ids=SKIPS)
def test_pod_group_is_skipped_with_its_reason(job: dict[str, Any], reason: NominationSkipReason) -> None:
    found = only_nomination(**job)
    assert (found.result, found.skip_reason) == (NominationResult.SKIPPED, reason)
    assert found.detail


def test_a_start_in_the_future_is_clock_skew_until_then() -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.running("job", node="n", queue="q", gpus=1, expected_runtime="1m", created_ago="0s")
    cluster = builder.build()
    (group,) = cluster.pod_groups
    later = replace(
        cluster, pod_groups=PersistentVector([replace(group, facts=replace(group.facts, last_start=NOW + 5))])
    )
    (found,) = open_session(later).chains.nominations(REQUEUE).rows
    assert (found.skip_reason, found.until) == (NominationSkipReason.CLOCK_SKEW, NOW + 5)


COOLDOWNS: Final = {
    "R12.3 a moment before its end": ("1ns", False),
    "R12.3 at its very end": ("0s", True),
}


@pytest.mark.parametrize(("left", "is_candidate"), COOLDOWNS.values(), ids=COOLDOWNS)
def test_a_cooldown_ends_at_its_time(left: str, is_candidate: bool) -> None:
    found = only_nomination(expected_runtime="1m", requeue_in=left)
    assert found.is_candidate is is_candidate
    assert found.until == (None if is_candidate else NOW + 1)


def test_pod_group_without_expected_runtime_is_not_nominated() -> None:
    assert nominations() == []
    assert nominations(priority=100, started_ago=None) == []


QUEUES: Final = {
    "R12.72 the queue's value counts for who says nothing": ({"expected_runtime": "30m"}, {}, True),
    "its own value comes first": ({"expected_runtime": "30m"}, {"expected_runtime": "2h"}, False),
    "a bad value of its own is not replaced": (
        {"expected_runtime": "30m"},
        {"requeue": RequeueSettings(BAD)},
        False,
    ),
}


@pytest.mark.parametrize(("queue", "job", "is_candidate"), QUEUES.values(), ids=QUEUES)
def test_expected_runtime_of_the_queue_applies_to_its_pod_groups(
    queue: dict[str, str], job: dict[str, Any], is_candidate: bool
) -> None:
    (found,) = nominations(queue=queue, started_ago="1h", **job)
    assert found.is_candidate is is_candidate


INHERITED: Final = {
    "from the parent": ({"expected_runtime": "30m"}, {}, 1),
    "the nearest one counts": ({"expected_runtime": "30m"}, {"expected_runtime": "2h"}, 1),
    "an explicit zero stops the inheritance": ({"expected_runtime": "30m"}, {"expected_runtime": "0s"}, 0),
    "nobody says anything": ({}, {}, 0),
}


@pytest.mark.parametrize(("parent", "leaf", "count"), INHERITED.values(), ids=INHERITED)
def test_queues_inherit_from_their_parents(parent: Any, leaf: Any, count: int) -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("top", **parent).queue("q", parent="top", **leaf)
    builder.running("job", node="n", queue="q", gpus=1)
    assert len(open_session(builder.build()).chains.nominations(REQUEUE).rows) == count
