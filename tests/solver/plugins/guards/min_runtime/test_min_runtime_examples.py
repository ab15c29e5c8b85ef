"""The examples of the proposals as complete cycles: one second before the minimum runtime, and at it."""

from collections.abc import Mapping

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.min_runtime.contested_gpu import (
    evicted_pods,
    preemption_cluster,
    reclaim_cluster,
    tree,
)

RECLAIM_TREE = {"A": "", "B": "A", "C": "B", "D": "B", "leaf1": "C", "leaf2": "C", "leaf3": "D"}
RECLAIM_MINIMUMS = {"B": "600s", "D": "60s", "leaf1": "0s", "leaf2": "180s"}
PREEMPT_TREE = {"A": "", "B": "A", "C": "B", "leaf1": "C", "leaf2": "C"}
PREEMPT_MINIMUMS = {"B": "600s", "leaf1": "300s"}

RECLAIMS = {
    "R7.16 example 1: leaf1 from leaf3, the 60s of D": ("leaf1", "leaf3", 60),
    "R7.16 example 2: leaf1 from leaf2, its own 180s": ("leaf1", "leaf2", 180),
    "R7.16 example 3: leaf3 from leaf1, the 600s of B that C inherits": ("leaf3", "leaf1", 600),
}
PREEMPTIONS = {
    "R7.10 example 1: leaf1 has its own 300s": ("leaf1", PREEMPT_MINIMUMS, 300),
    "R7.10 example 2: leaf2 inherits the 600s of B": ("leaf2", PREEMPT_MINIMUMS, 600),
}


@pytest.mark.parametrize(("reclaimer", "victim", "minimum_s"), RECLAIMS.values(), ids=RECLAIMS)
def test_reclaim_examples(reclaimer: str, victim: str, minimum_s: int) -> None:
    def after(seconds: int) -> list[str]:
        queues = tree(RECLAIM_TREE, rich=reclaimer, reclaim=RECLAIM_MINIMUMS)
        return evicted_pods(reclaim_cluster(queues, reclaimer, victim, f"{seconds}s"))

    assert (after(minimum_s - 1), after(minimum_s)) == ([], ["old-0"])


@pytest.mark.parametrize(("leaf", "minimums", "minimum_s"), PREEMPTIONS.values(), ids=PREEMPTIONS)
def test_preempt_examples(leaf: str, minimums: Mapping[str, str], minimum_s: int) -> None:
    def after(seconds: int) -> list[str]:
        return evicted_pods(
            preemption_cluster(tree(PREEMPT_TREE, rich=leaf, preempt=minimums), leaf, f"{seconds}s")
        )

    assert (after(minimum_s - 1), after(minimum_s)) == ([], ["old-0"])


def production(ran: str) -> ClusterBuilder:
    """The queue of the plugin's documentation, and a queue below its fair share."""
    return tree({"production": "", "other": ""}, rich="other", reclaim={"production": "30s"})


def test_no_reclaim_after_20s_of_30s_and_the_end_is_reported() -> None:
    decision = answer(reclaim_cluster(production("20s"), "other", "production", "20s"), default_profile())
    assert decision.groups == ()
    (outcome,) = decision.outcomes
    ends = NOW + 10 * SECOND
    assert (outcome.kind, outcome.reason.code) == (OutcomeKind.DELAYED, ReasonCode.MIN_RUNTIME)
    assert (outcome.reason.until, decision.next_wake_time) == (ends, ends)
    assert ends in [protection.until for protection in decision.protections]


@pytest.mark.parametrize("ran", ["30s", "31s"], ids=["R7.20 at 30s", "R7.20 later"])
def test_pod_group_is_reclaimed_after_its_30s(ran: str) -> None:
    assert evicted_pods(reclaim_cluster(production(ran), "other", "production", ran)) == ["old-0"]
