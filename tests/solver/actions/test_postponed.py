"""What a cycle does not evaluate has its turn in the next one, before failures are repeated (R2.25)."""

from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.actions.postponed import MAX_POSTPONED, postponed_in, postponed_rows
from tenure.solver.cycle import decide
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import POSTPONED, PostponedPodGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.facts import NOW
from tenure.terms.durations import SECOND

from tests.attacks.overload.test_shared_time import CountedDeadline

MEMBERS: Final = 6


def _limited(simulations: int) -> Profile:
    options = replace(CycleOptions(), max_simulations_per_action=simulations, skip_similar_pod_groups=False)
    return replace(default_profile(), actions=("reclaim",), options=options)


def _vain_searches(fair: int = 1) -> Cluster:
    """Searches of `vain` fail, each after two simulations; `fair`, later in its queue, could reclaim."""
    builder = ClusterBuilder().queue("owner", quota=40).queue("lent", quota=0)
    builder.node("small", gpus=2).running("small", queue="lent", gpus=1, count=2, node="small")
    builder.node("large", gpus=4).running("large", queue="lent", gpus=4, node="large")
    for number in range(MEMBERS):
        builder.pending(f"vain{number}", queue="owner", priority=90, gpus=3, count=3)
    for number in range(fair):
        builder.pending(f"fair{number}", queue="owner", priority=50, gpus=1)
    return builder.build()


def _next(cluster: Cluster, result: CycleResult) -> Cluster:
    """A second later, with what the caller was to store."""
    return replace(cluster, now=cluster.now + SECOND, carried=cluster.carried.after(result.carried))


def _named(cluster: Cluster) -> list[str]:
    return [row.pod_group for row in cluster.carried.rows(POSTPONED)]


def _kind(cluster: Cluster, result: CycleResult, name: str) -> OutcomeKind:
    names = {group.index: group.facts.name for group in cluster.pod_groups}
    return next(each.kind for each in result.outcomes if names[each.pod_group] == name)


def test_pod_group_behind_failures_has_its_turn_in_the_next_cycle() -> None:
    cluster, profile = _vain_searches(), _limited(4)
    first = answer(cluster, profile)
    assert _kind(cluster, first, "fair0") is OutcomeKind.BUDGET_EXHAUSTED
    assert _kind(cluster, answer(cluster, profile), "fair0") is OutcomeKind.BUDGET_EXHAUSTED, "without rows"
    later = _next(cluster, first)
    assert "fair0" in _named(later)
    kinds = []
    for _ in range(MEMBERS):
        result = answer(later, profile)
        later = _next(later, result)
        kinds.append(_kind(later, result, "fair0"))
    assert OutcomeKind.WAITING_FOR_VICTIMS in kinds


def test_every_pod_group_is_evaluated_within_as_many_cycles_as_it_takes() -> None:
    cluster, profile = _vain_searches(), _limited(4)
    waiting = {group.facts.uid for group in cluster.pod_groups if group.facts.name.startswith("vain")}
    for _ in range(2 * MEMBERS):
        result = answer(cluster, profile)
        cluster = _next(cluster, result)
        waiting &= set(_named(cluster))
    assert not waiting


def test_first_half_is_that_of_the_order_of_queues() -> None:
    """A pod group that was postponed takes nothing from one that comes before it and is evaluated."""
    cluster, profile = _vain_searches(), _limited(100)
    row = next(
        PostponedPodGroup(group.facts.uid, NOW) for group in cluster.pod_groups if "fair" in group.facts.name
    )
    postponed = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, [row]))
    plain, result = answer(cluster, profile), answer(postponed, profile)
    assert (plain.groups, plain.outcomes) == (result.groups, result.outcomes)
    assert _named(_next(postponed, result)) == [], "it was evaluated"


def test_complete_cycle_stores_nothing() -> None:
    cluster = _vain_searches()
    assert not [each for each in answer(cluster, _limited(1_000)).carried if each.kind is POSTPONED]


def test_rows_of_unknown_pod_groups_are_deleted() -> None:
    cluster = _vain_searches()
    gone = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, [PostponedPodGroup("gone", NOW)]))
    (change,) = [each for each in answer(gone, _limited(1_000)).carried if each.kind is POSTPONED]
    assert (change.rows, change.deleted) == ((), ("gone",))


def _pending(count: int) -> Cluster:
    builder = ClusterBuilder().queue("many").queue("few").node("n", gpus=1)
    for number in range(count):
        builder.pending(f"many{number:05}", queue="many", gpus=2)
    return builder.pending("few", queue="few", gpus=2).build()


def test_rows_are_bounded_and_shared_by_the_queues() -> None:
    cluster = _pending(2 * MAX_POSTPONED)
    rows = postponed_rows(cluster, postponed_in(cluster), range(len(cluster.pod_groups)), frozenset())
    queues = {group.facts.uid: group.queue for group in cluster.pod_groups}
    assert len(rows) == MAX_POSTPONED
    assert len({queues[row.pod_group] for row in rows}) == 2


def test_those_that_follow_in_the_order_of_the_queue_come_next() -> None:
    cluster = _pending(2 * MAX_POSTPONED)
    left, named = range(len(cluster.pod_groups)), set[str]()
    for _ in range(3):
        rows = postponed_rows(cluster, postponed_in(cluster), left, frozenset())
        named |= {row.pod_group for row in rows}
        cluster = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, sorted(rows)))
        evaluated = {row.pod_group for row in rows}
        left_now = [each.index for each in cluster.pod_groups if each.facts.uid not in evaluated]
        rows = postponed_rows(cluster, postponed_in(cluster), left_now, frozenset())
        cluster = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, sorted(rows)))
        named |= {row.pod_group for row in rows}
    assert len(named) == len(cluster.pod_groups)


@pytest.mark.parametrize("part", [2, 3, 4])
def test_time_that_is_over_postpones_what_was_not_evaluated(part: int) -> None:
    cluster = _vain_searches(fair=40)
    stop = CountedDeadline(10**9)
    answer(cluster, default_profile(), stop)
    ticks = (10**9 - stop.left) // part
    result = decide(cluster, default_profile(), CountedDeadline(ticks)).close()
    assert result.stopped_early
    assert _named(_next(cluster, result))


def test_pod_group_that_is_newer_than_all_rows_keeps_its_place_among_queues() -> None:
    """No cycle could evaluate it, so it is no failure that is repeated."""
    builder = ClusterBuilder().queue("late", quota=20).queue("good", quota=20).queue("lent", quota=0)
    builder.node("used", gpus=6).running("used", queue="late", gpus=6, node="used")
    for number in range(4):
        builder.node(f"n{number}", gpus=1).running(f"lent{number}", queue="lent", gpus=1, node=f"n{number}")
    for number in range(4):
        builder.pending(f"late{number}", queue="late", priority=1, gpus=1)
        builder.pending(f"good{number}", queue="good", priority=80, gpus=1)
    cluster = builder.build()
    named = {group.facts.uid: group for group in cluster.pod_groups}
    plain = answer(cluster, _limited(4))
    for since, equal in ((named["good0"].facts.creation - 1, True), (NOW, False)):
        rows = [PostponedPodGroup(f"late{number}", since) for number in range(4)]
        later = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, rows))
        assert (answer(later, _limited(4)).groups == plain.groups) is equal


def test_cycle_that_ends_before_its_actions_deletes_no_row() -> None:
    cluster = _vain_searches(fair=3)
    rows = [PostponedPodGroup(f"fair{number}", NOW) for number in range(3)]
    later = replace(cluster, carried=cluster.carried.with_rows(POSTPONED, rows))
    result = decide(later, default_profile(), CountedDeadline(1)).close()
    assert [
        row for row in _next(later, result).carried.rows(POSTPONED) if row.pod_group in _named(later)
    ] == rows


@pytest.mark.parametrize("ticks", range(2, 40))
def test_pod_group_that_was_given_capacity_is_not_postponed(ticks: int) -> None:
    cluster = _vain_searches(fair=3)
    result = answer(cluster, default_profile(), CountedDeadline(ticks))
    placed = {
        each.pod_group
        for each in result.outcomes
        if each.kind in (OutcomeKind.BOUND, OutcomeKind.WAITING_FOR_VICTIMS)
    }
    postponed = set(_named(_next(cluster, result)))
    assert not postponed & {cluster.pod_groups[index].facts.uid for index in placed}


def test_search_that_uses_up_the_simulations_is_postponed() -> None:
    cluster = _vain_searches()
    result = answer(cluster, _limited(3))
    exhausted = {
        cluster.pod_groups[each.pod_group].facts.uid
        for each in result.outcomes
        if each.kind is OutcomeKind.BUDGET_EXHAUSTED
    }
    assert set(_named(_next(cluster, result))) == exhausted
