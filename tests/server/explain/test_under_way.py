"""What was decided earlier is explained as that: for whom pods leave, and who waits for them."""

from tenure.server.explain.pending import why_pending
from tenure.server.explain.victim import why_victim
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

OLD, NEW = 1, 0


def inquiry() -> Inquiry:
    """`old` is to leave n for `new`."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.running("old", queue="q", node="n", gpus=1).pending("new", queue="q", gpus=1, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, holds={"new-0": "n"})
    return Inquiry.of(builder.build(), default_profile())


def test_who_was_promised_room_waits_for_those_who_leave() -> None:
    text = why_pending(inquiry(), NEW).text
    assert (
        text.operator
        == "Pod group new (queue q) has room for 1 pod and starts as soon as 1 pod of old have left."
    )


def test_who_is_to_leave_is_told_that_it_was_decided_earlier() -> None:
    text = why_victim(inquiry(), OLD).text
    assert "loses 1 pod to pod group new" in text.operator
    assert "decided earlier" in text.public
    assert "new" not in text.public
