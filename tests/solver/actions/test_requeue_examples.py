"""The two examples of the requeue proposal: four hours; eight hours with a requeue delay of 30 minutes."""

import pytest
from tenure.solver.model.requeue import NominationResult, NominationSkipReason
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import parse_duration

from tests.solver.actions.requeue_cases import nomination, run_cycle, statuses_after, two_queues

CONTENDER = {"queue": "b", "gpus": 1, "priority": 50}


def training(ran: str, expected: str, **more: str) -> ClusterBuilder:
    """A preemptible pod group with an expected runtime, on the only GPU."""
    return two_queues().running(
        "job", queue="a", gpus=1, node="n", priority=40, started_ago=ran, expected_runtime=expected, **more
    )


FOUR_HOURS = {
    "a second before the four hours": ("3h59m59s", CONTENDER, NominationResult.NOT_DUE),
    "after them, when nobody needs the room": ("4h", None, NominationResult.NO_CONTENDER),
    "after them, when nobody more important does": (
        "4h",
        {**CONTENDER, "priority": 40},
        NominationResult.NO_CONTENDER,
    ),
    "after them, for a higher priority": ("4h", CONTENDER, NominationResult.REQUEUED),
}


@pytest.mark.parametrize(("ran", "contender", "result"), FOUR_HOURS.values(), ids=FOUR_HOURS)
def test_example_of_four_hours(
    ran: str, contender: dict[str, object] | None, result: NominationResult
) -> None:
    story = training(ran, "4h")
    if contender:
        story.pending("new", **contender)
    assert nomination(story).result is result
    is_gone = statuses_after(story)["job-0"] == "RELEASING n"
    assert is_gone is (result is NominationResult.REQUEUED)


def test_example_of_eight_hours_with_a_cooldown_of_thirty_minutes() -> None:
    story = training("8h", "8h", requeue_delay="30m").pending("new", **CONTENDER)
    (found,) = run_cycle(story)[1].nominations
    assert (found.result, found.not_before) == (NominationResult.REQUEUED, NOW + parse_duration("30m"))


COOLDOWN = {
    "a second before its end": ("1s", False),
    "at its end": ("0s", True),
}


@pytest.mark.parametrize(("left", "is_requeued"), COOLDOWN.values(), ids=COOLDOWN)
def test_example_is_not_requeued_within_the_cooldown(left: str, is_requeued: bool) -> None:
    story = training("9h", "8h", requeue_delay="30m", requeue_in=left).pending("new", **CONTENDER)
    found = nomination(story)
    assert (found.result is NominationResult.REQUEUED) is is_requeued
    assert (found.skip_reason is NominationSkipReason.COOLDOWN) is not is_requeued
