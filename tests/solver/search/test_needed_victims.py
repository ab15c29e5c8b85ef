"""No decision evicts a pod that its beneficiary needs where it is (R5.64, R3.71, R3.74)."""

from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.constraints import PodAffinityTerm, TopologySpread
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, statuses

DB = {"app": "db"}
NEAR = PodAffinityTerm((("app", "db"),), "host")


def evicted_and_reserved(builder: ClusterBuilder) -> tuple[list[str], list[str]]:
    built = builder.build()
    after = statuses(built, answer(built, default_profile()))
    found = {status: sorted(uid for uid, s in after.items() if s.status is status) for status in TaskStatus}
    return found[TaskStatus.RELEASING], found[TaskStatus.PIPELINED]


def one_node(gpus: int, *, is_reclaim: bool) -> tuple[ClusterBuilder, dict[str, Any], dict[str, Any]]:
    """With the options of pod groups that may be victims, and of one that may evict them."""
    builder = ClusterBuilder().node("n", gpus=gpus, labels={"host": "n"})
    if not is_reclaim:
        return builder.queue("q"), {"queue": "q"}, {"queue": "q", "priority": 90}
    builder.queue("lender", quota=gpus).queue("borrower", quota=0)
    return builder, {"queue": "borrower"}, {"queue": "lender"}


@pytest.mark.parametrize("is_reclaim", [False, True], ids=["preempt", "reclaim"])
def test_pod_is_not_evicted_for_one_that_must_be_near_it(is_reclaim: bool) -> None:
    builder, low, high = one_node(1, is_reclaim=is_reclaim)
    builder.running("db", node="n", gpus=1, labels=DB, **low)
    builder.pending("app", gpus=1, pod_affinity=[NEAR], **high)
    assert evicted_and_reserved(builder) == ([], [])


@pytest.mark.parametrize("is_reclaim", [False, True], ids=["preempt", "reclaim"])
@pytest.mark.parametrize("first", ["db", "other"], ids=["the needed one first", "the other one first"])
def test_pods_beside_the_needed_one_are_evicted(first: str, is_reclaim: bool) -> None:
    """The order of victims changes nothing."""
    builder, low, high = one_node(3, is_reclaim=is_reclaim)
    for name in ("db", "other", "another"):
        labels = DB if name == "db" else {}
        builder.running(
            name, node="n", gpus=1, labels=labels, **{"priority": 20 if name == first else 50, **low}
        )
    builder.pending("app", gpus=2, pod_affinity=[NEAR], **high)
    assert evicted_and_reserved(builder) == (["another-0", "other-0"], ["app-0"])


def test_pod_of_another_node_is_evicted_where_only_that_helps() -> None:
    """Both provide; the pod needs one of them, and the node of the other one."""
    builder = ClusterBuilder().queue("q")
    for name in ("a", "b"):
        builder.node(name, gpus=2, labels={"host": name, "rack": "r"})
        builder.running(f"db-{name}", queue="q", node=name, gpus=2, labels=DB)
    near = PodAffinityTerm((("app", "db"),), "rack")
    evicted, reserved = evicted_and_reserved(
        builder.pending("app", queue="q", gpus=2, priority=90, pod_affinity=[near])
    )
    assert (len(evicted), reserved) == (1, ["app-0"])


def test_pod_that_is_counted_elsewhere_is_not_evicted() -> None:
    """Zone a must keep its pod, or zone b takes no second one."""
    builder = ClusterBuilder().queue("q")
    builder.node("a", gpus=1, labels={"zone": "a"}).node("b", gpus=2, labels={"zone": "b"})
    builder.running("counted", queue="q", gpus=1, node="a", labels=DB, priority=10)
    builder.running("same", queue="q", gpus=1, node="b", labels=DB, priority=100)
    builder.running("low", queue="q", gpus=1, node="b", priority=50)
    spread = TopologySpread("zone", match_labels=(("app", "db"),))
    builder.pending("app", queue="q", gpus=1, priority=90, labels=DB, topology_spread=[spread])
    builder.pending(
        "app2",
        queue="q",
        gpus=1,
        priority=90,
        labels=DB,
        topology_spread=[spread],
        node_selector={"zone": "b"},
    )
    evicted, reserved = evicted_and_reserved(builder)
    assert "low-0" in evicted
    assert "app2-0" in reserved


def test_later_decision_does_not_evict_what_a_reserved_pod_needs() -> None:
    """First `app` evicts the filler beside the database; `big` may not have the database then."""
    builder = ClusterBuilder().queue("q").node("n", gpus=2, labels={"host": "n"})
    builder.running("db", queue="q", gpus=1, node="n", labels=DB, priority=10)
    builder.running("filler", queue="q", gpus=1, node="n", priority=50)
    builder.pending("app", queue="q", gpus=1, priority=90, pod_affinity=[NEAR])
    builder.pending("big", queue="q", gpus=1, priority=80)
    assert evicted_and_reserved(builder) == (["filler-0"], ["app-0"])
