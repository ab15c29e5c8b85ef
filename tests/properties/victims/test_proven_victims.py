"""No victim of a set that is called proven can stay. The check `victims` judges many more clusters."""

from collections import Counter
from dataclasses import replace

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup
from tenure.solver.model.verdict import Minimality, VictimSet
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.properties.victims.proven_victims import (
    find_additional_victims,
    find_needless_victims,
    judge,
)


def test_victims_on_random_clusters_are_needed_where_a_decision_says_so() -> None:
    found = Counter[str]()
    for seed in (*range(300), 2680):  # in 2680, one pod of a batch could stay without the other
        found.update(judge(seed))
    assert [text for text in found if text.startswith("seed")] == []
    assert found["preempt: PROVEN"] > 0
    assert found["pods put back"] > 0
    assert found["pods disrupted, full"] < found["pods disrupted, never"]


def _cluster() -> Cluster:
    """The surplus that goes first is where too little can be freed."""
    builder = ClusterBuilder().queue("q", quota=8).node("n1", gpus=4).node("n2", gpus=4)
    builder.pod_group("elastic", queue="q", priority=50, min_member=0)
    builder.running("elastic", node="n2", gpus=1).running("elastic", node="n1", gpus=1, count=3)
    builder.running("firm", queue="q", priority=95, node="n1", gpus=1)
    return builder.pending("urgent", queue="q", priority=90, gpus=4).build()


def _decide(mode: str) -> CycleResult:
    profile = replace(default_profile(), actions=("preempt",), options=CycleOptions(fill_back=mode))
    return answer(_cluster(), profile)


def test_the_judge_finds_victims_that_could_stay_and_that_are_new() -> None:
    cluster, plain, smaller = _cluster(), _decide("never"), _decide("full")
    (group,) = plain.groups
    called_proven = DecisionGroup(
        group.action,
        group.beneficiary,
        group.reason,
        group.evictions,
        group.reservations,
        group.bindings,
        group.patches,
        victim_set=VictimSet(Minimality.PROVEN, 0, 0, 0),
    )
    wrong = replace(plain, groups=(called_proven,))
    assert list(find_needless_victims(cluster, wrong)) == [
        f"preempt is proven, and elastic-{number} could stay" for number in (1, 2, 3)
    ]
    assert list(find_needless_victims(cluster, smaller)) == []
    assert list(find_additional_victims(plain, smaller)) == []
    assert list(find_additional_victims(smaller, plain)) == [
        "preempt disrupts 3 more pods than without fill back"
    ]
