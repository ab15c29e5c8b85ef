"""Explanations of in-flight decisions: the preemptor of terminating pods, and the pods that wait for them."""

from tenure.server.explain.why_pending import why_pending
from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

OLD, NEW = 1, 0


def inquiry() -> CycleReplay:
    """The replay of a cycle in which `old` is being evicted from n for `new`."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.running("old", queue="q", node="n", gpus=1).pending("new", queue="q", gpus=1, priority=75)
    builder.in_flight("f", beneficiary="new", evicts={"old-0": "n"}, reserves={"new-0": "n"})
    return CycleReplay(builder.build(), default_profile())


def test_pod_group_with_reservation_is_waiting_for_its_victims() -> None:
    text = why_pending(inquiry(), NEW).text
    assert (
        text.operator
        == "Pod group new (queue q) has reserved capacity for 1 pod and waits for 1 pod of old to terminate."
    )


def test_earlier_eviction_is_explained_as_decided_earlier() -> None:
    text = why_victim(inquiry(), OLD).text
    assert "evicted for pod group new" in text.operator
    assert "by an earlier decision" in text.public
    assert "new" not in text.public
