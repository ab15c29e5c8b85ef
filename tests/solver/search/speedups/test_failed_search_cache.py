"""After a failed search, equal requests are not searched for again."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.reservations.play import Play, profile_with


def reclaim(*asking: tuple[int, int]) -> CycleResult:
    """Reclaim with preemptors of this many pods and CPUs, one after the other.

    Two jobs run on a full node in a queue that comes first and would win its capacity back, so no reclaim
    succeeds. Each search simulates, without a bound on what it could gain.
    """
    builder = ClusterBuilder().node("n", gpus=2)
    builder.queue("first", quota=1, weight=0, priority=200).queue("second", quota=0, weight=1)
    for name in ("a", "b"):
        builder.running(name, queue="first", gpus=1, node="n")
    for number, (count, cpus) in enumerate(asking):
        builder.pending(f"asks{number}", queue="second", gpus=1, cpus=cpus, count=count)
    speedups = tuple(name for name in SPEEDUPS if name != "reclaim_bound")
    options = CycleOptions(skip_similar_pod_groups=False, victim_choice="inOrder", speedups=speedups)
    return answer(builder.build(), replace(default_profile(), actions=("reclaim",), options=options))


@pytest.mark.parametrize(
    ("asking", "searches"),
    [(((1, 1),), 1), (((1, 1), (1, 1)), 1), (((1, 1), (1, 2)), 2), (((1, 1), (1, 2), (1, 1)), 2)],
)
def test_equal_requests_of_a_queue_are_searched_for_once(
    asking: tuple[tuple[int, int], ...], searches: int
) -> None:
    alone = reclaim((1, 1)).counters.simulated
    decision = reclaim(*asking)
    assert alone > 0
    assert decision.counters.simulated == searches * alone
    assert [outcome.kind for outcome in decision.outcomes] == [OutcomeKind.WAITING_FOR_CAPACITY] * len(asking)
    assert len({outcome.reason for outcome in decision.outcomes}) == 1


def consolidate(*cpus: int, protected: bool, skip_similar_pod_groups: bool = True) -> CycleResult:
    """Consolidate with pending pod groups of these numbers of CPUs.

    They fit on a node with a running job that fits in no other free place. If `protected`, pods of another
    queue cannot be relocated for an hour.
    """
    builder = ClusterBuilder().node("a", gpus=2, cpus=8).node("b", gpus=2, cpus=4).node("c", gpus=1)
    builder.queue("q").queue("other", reclaim_min_runtime="1h" if protected else "0s")
    builder.running("on-a", queue="q", gpus=1, cpus=5, node="a")
    builder.running("on-b", queue="q", gpus=1, cpus=1, node="b")
    builder.running("elsewhere", queue="other", gpus=1, node="c", started_ago="1m")
    for number, amount in enumerate(cpus):
        builder.pending(f"waits{number}", queue="q", gpus=2, cpus=amount, priority=75)
    options = CycleOptions(skip_similar_pod_groups=skip_similar_pod_groups, victim_choice="inOrder")
    return answer(builder.build(), replace(default_profile(), actions=("consolidation",), options=options))


@pytest.mark.parametrize("protected", [False, True])
def test_failed_search_with_protected_candidates_is_not_repeated(protected: bool) -> None:
    alone = consolidate(6, protected=protected)
    again = consolidate(6, 6, 6, protected=protected)
    assert alone.counters.simulated == again.counters.simulated > 0
    first, *others = again.outcomes
    assert first.reason.code is ReasonCode.FRAGMENTED
    if protected:
        assert {outcome.reason for outcome in others} == {first.reason}


def test_search_rejected_by_validators_is_repeated_unless_similar_ones_are_skipped() -> None:
    """Whether the protection alone is in the way is checked once for all of them."""
    one, two, three = [
        consolidate(*(6,) * count, protected=True, skip_similar_pod_groups=False).counters.simulated
        for count in (1, 2, 3)
    ]
    assert three - two == two - one > 0


@pytest.mark.parametrize("speedups", [SPEEDUPS, ()])
def test_one_that_ends_before_a_reserved_start_is_searched_for_after_one_that_does_not(
    speedups: tuple[str, ...],
) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    hour = {"queue": "q", "gpus": 2, "node": "n", "started_ago": "1h"}
    builder.running("stays", time_limit="3h", preemptibility=Preemptibility.NON_PREEMPTIBLE, **hour)  # type: ignore[arg-type]
    builder.running("victim", expected_runtime="3h", **hour)  # type: ignore[arg-type]
    builder.pending("owner", queue="q", gpus=4, priority=90, created_ago="2h")
    builder.pending("endless", queue="q", gpus=2, priority=90, created_ago="1h")
    builder.pending("endless-too", queue="q", gpus=2, priority=90, created_ago="30m")
    builder.pending("short", queue="q", gpus=2, priority=90, created_ago="1m", expected_runtime="10m")
    profile = profile_with(("reservation",), maxFraction="1")
    cluster = builder.build()
    cluster = cluster.carrying(PLANNED_STARTS, answer(cluster, profile).planned_starts or ())
    options = CycleOptions(skip_similar_pod_groups=False, victim_choice="inOrder", speedups=speedups)
    decision = answer(cluster, replace(profile, actions=("preempt",), options=options))
    names = [cluster.pod_groups[group.beneficiary].facts.name for group in decision.groups]
    assert (names, decision.counters.simulated) == (["short"], 2 if speedups else 3)


@pytest.mark.parametrize("skipped", [None, "failed_search_cache"])
def test_search_is_repeated_for_one_that_may_pass_a_reservation_of_another_queue(skipped: str | None) -> None:
    """`later` has its turn when `victim` runs again, so that the queue of `owner` exceeds its fair share."""
    builder = ClusterBuilder().node("n1", gpus=4).node("n2", gpus=2).node("n3", gpus=4).node("n4", gpus=1)
    builder.queue("a", quota=4, weight=1, priority=100, reclaim_min_runtime="1000h")
    builder.queue("b", quota=6, weight=1, priority=200, preempt_min_runtime="1000h")
    builder.queue("c", quota=1, weight=0, reclaim_min_runtime="1h")
    builder.running("victim", queue="b", gpus=2, node="n1", started_ago="1h", created_ago="1h")
    builder.running("protected", queue="c", gpus=1, node="n4", started_ago="1m")
    builder.running("fills", queue="b", gpus=4, node="n3", started_ago="1h", created_ago="1h")
    firm = Preemptibility.NON_PREEMPTIBLE
    builder.pending("owner", queue="b", gpus=4, created_ago="5h", preemptibility=firm)
    builder.pending("first", queue="a", gpus=4, created_ago="4h")
    builder.pending("between", queue="a", gpus=3, count=2, created_ago="3h")
    builder.pending("later", queue="a", gpus=4, created_ago="2h")
    actions = ("allocate", "consolidation", "reclaim", "preempt", "reservation")
    speedups = tuple(name for name in SPEEDUPS if name != skipped)
    profile = replace(
        profile_with(actions, maxFraction="1"),
        options=CycleOptions(speedups=speedups, victim_choice="inOrder"),
    )
    play = Play(builder.build(), profile, absent=("first", "between", "later"))
    play.cycle(0)
    play.arrive("first", "between", "later")
    cluster, decision = play.cluster, play.cycle(1)
    found = [(each.action, cluster.pod_groups[each.beneficiary].facts.name) for each in decision.groups]
    assert found == [("consolidation", "later")]
