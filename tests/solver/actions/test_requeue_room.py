"""After a requeue the contender has the room, unless the queue of the evicted may reclaim it (R12.51)."""

from typing import Any, Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.requeue import NominationResult
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, apply_decisions
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.actions.requeue_cases import OVERDUE, nomination

MINUTE: Final = 60 * SECOND
NONE: Final[list[list[str]]] = [[]] * 11
EQUAL: Final = {
    "the contender's queue is older": ("b", "1d", "a", "2d"),
    "the contender's queue is younger": ("b", "2d", "a", "1d"),
    "its name comes first, and it is older": ("a", "2d", "b", "1d"),
    "its name comes first, and it is as old": ("a", "1d", "b", "1d"),
    "its name comes last, and it is as old": ("b", "1d", "a", "1d"),
}


@pytest.mark.parametrize("delay", ["0s", "10m"])
@pytest.mark.parametrize(("mine", "my_age", "theirs", "their_age"), EQUAL.values(), ids=EQUAL)
def test_names_and_ages_of_queues_of_equal_claim_do_not_decide(
    mine: str, my_age: str, theirs: str, their_age: str, delay: str
) -> None:
    story = ClusterBuilder().node("n", gpus=1)
    story.queue(theirs, quota=1, created_ago=their_age).queue(mine, quota=1, created_ago=my_age)
    story.running("old", node="n", **{**OVERDUE, "queue": theirs}, requeue_delay=delay)
    story.pending("new", queue=mine, gpus=1, priority=50)
    assert nomination(story).result is NominationResult.REQUEUED
    assert _losses(story) == [["old"], *NONE]


ENTITLED: Final = (
    ReasonCode.WITHIN_FAIR_SHARE,
    "queue a is entitled to its capacity and would reclaim it from queue b",
)
CLAIMS: Final[dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], object]]] = {
    "both queues are within their quota": ({"quota": 1}, {"quota": 1}, {}, None),
    "only the queue of the evicted is": ({"quota": 1}, {"quota": 0}, {}, ENTITLED),
    "only that of the contender is": ({"quota": 0}, {"quota": 1}, {}, None),
    "neither is": ({"quota": 0}, {"quota": 0}, {}, None),
    "the contender's queue is within its quota and not preemptible": (
        {"quota": 1},
        {"quota": 1},
        {"preemptibility": Preemptibility.NON_PREEMPTIBLE},
        None,
    ),
}


def _two_zones(theirs: dict[str, Any], mine: dict[str, Any], contender: dict[str, Any]) -> ClusterBuilder:
    """The overdue pod group and the contender need the only GPU of zone x; that of zone y stays free."""
    story = ClusterBuilder().node("n", gpus=1, labels={"zone": "x"}).node("free", gpus=1)
    story.queue("a", **theirs).queue("b", **mine)
    story.running("old", node="n", **OVERDUE, node_selector={"zone": "x"})
    return story.pending(
        "new", **{"queue": "b", "gpus": 1, "priority": 50, "node_selector": {"zone": "x"}, **contender}
    )


@pytest.mark.parametrize(("theirs", "mine", "contender", "reason"), CLAIMS.values(), ids=CLAIMS)
def test_room_that_the_queue_of_the_evicted_may_reclaim_is_not_taken(
    theirs: dict[str, Any], mine: dict[str, Any], contender: dict[str, Any], reason: object
) -> None:
    story = _two_zones(theirs, mine, contender)
    found = nomination(story)
    expected = NominationResult.REQUEUED if reason is None else NominationResult.NO_BENEFIT
    assert found.result is expected
    assert reason is None or (found.code, found.detail) == reason
    assert _losses(story) == [["old"] if reason is None else [], *NONE]


def _losses(story: ClusterBuilder) -> list[list[str]]:
    """Pod groups that lose pods in each of twelve cycles with all actions, a minute apart."""
    cluster, found = story.build(), []
    for _ in range(12):
        decision = answer(cluster, default_profile())
        losers = {cluster.tasks[step.task].pod_group for group in decision.groups for step in group.evictions}
        found.append(sorted(cluster.pod_groups[index].facts.name for index in losers))
        cluster = apply_decisions(cluster, decision, MINUTE)
    return found


def test_usage_within_the_shares_does_not_protect_from_a_requeue() -> None:
    """The contender's queue already uses more: its quota covers it, so the other queue may not reclaim."""
    story = ClusterBuilder().node("n", gpus=4).queue("a", quota=4).queue("b", quota=4)
    story.running("others", node="n", queue="b", gpus=3, preemptibility=Preemptibility.NON_PREEMPTIBLE)
    story.running("old", node="n", **OVERDUE).pending("new", queue="b", gpus=1, priority=50)
    assert nomination(story).result is NominationResult.REQUEUED


def test_queues_of_equal_claim_do_not_requeue_each_other_for_ever() -> None:
    """A contender has a higher priority, so the requeued pod group does not requeue it in turn."""
    story = ClusterBuilder().node("n", gpus=1).queue("a", quota=1).queue("b", quota=1)
    story.running("old", node="n", **OVERDUE)
    story.pending("new", queue="b", gpus=1, priority=50, expected_runtime="5m")
    assert _losses(story) == [["old"], *NONE]
