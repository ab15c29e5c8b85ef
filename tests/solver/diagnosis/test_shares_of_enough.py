"""Each eviction may be permitted, but not enough of them together: the reason names the queue (R13.50)."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import PodGroupOutcome
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode


def outcome(quota_of_c: int, first: str) -> PodGroupOutcome:
    """`a` needs seven GPUs of node n1, which pods of C have; B has pods on n0, where it never fits."""
    made = ClusterBuilder().node("n0", gpus=8).node("n1", gpus=8).queue("A", quota=7, weight=0)
    for name in sorted("BC", reverse=first == "C"):
        made.queue(name, quota=2 if name == "B" else quota_of_c, weight=0)
    made.queue("D", quota=4, weight=0).running("d", node="n0", queue="D", gpus=4, priority=120)
    for number in range(4):
        made.running(f"b{number}", node="n0", queue="B", gpus=1)
    for number in range(8):
        made.running(f"c{number}", node="n1", queue="C", gpus=1)
    cluster = made.pending("a", queue="A", gpus=7).build()
    own = next(group.index for group in cluster.pod_groups if group.facts.name == "a")
    return next(each for each in answer(cluster, default_profile()).outcomes if each.pod_group == own)


@pytest.mark.parametrize("first", ["B", "C"])
def test_queue_is_named_that_would_fall_below_its_share(first: str) -> None:
    reason = outcome(3, first).reason
    assert reason.code is ReasonCode.NO_CAPACITY
    assert reason.detail.endswith(
        "so many evictions are not permitted: queue C would fall below its fair share"
    )
    assert not reason.for_owner, "it names a queue of others"


def test_nothing_is_said_where_the_evictions_are_permitted() -> None:
    assert outcome(1, "B").reason.code is ReasonCode.VICTIMS_EVICTED
