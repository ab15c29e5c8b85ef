"""A cycle replay restores any moment of the cycle and evaluates eligibility as the actions do."""

from dataclasses import replace

import pytest
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.eligibility import EligibilityStage, VictimQuery
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_position import OrderCriterion, Precedence, find_position
from tenure.solver.model.disruption_limits import TOKEN, EvictionRate
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder, apply_decisions
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

PROFILE = default_profile()


def inquiry(builder: ClusterBuilder) -> tuple[CycleReplay, dict[str, int]]:
    cluster = builder.build()
    return CycleReplay(cluster, PROFILE), {group.facts.name: group.index for group in cluster.pod_groups}


def contest() -> ClusterBuilder:
    """`low` and `young` are candidates for `job`. Evicting one of them is enough."""
    builder = ClusterBuilder().node("n1", gpus=3).queue("q")
    builder.running("low", queue="q", gpus=1, node="n1", priority=40)
    builder.running("young", queue="q", gpus=1, node="n1", priority=45)
    builder.running("old", queue="q", gpus=1, node="n1", priority=60)
    return builder.pending("job", queue="q", gpus=1, priority=60)


def state(context: CycleContext) -> tuple[object, ...]:
    ledger = context.session.ledger
    return list(ledger.placements), list(ledger.active_allocated), dict(context.session.eviction_history)


@pytest.mark.parametrize("seed", range(12))
def test_replayed_state_after_all_commits_is_the_end_of_the_cycle(seed: int) -> None:
    for draw in (random_cluster, contested_cluster):
        asked = CycleReplay(draw(SeededDraw(seed)), PROFILE)
        journal = asked.end.session.commits
        assert state(asked.before(len(journal))) == state(asked.end)


@pytest.mark.parametrize("seed", range(40))
def test_every_victim_is_eligible_at_the_start_of_its_search(seed: int) -> None:
    """The replay uses the chain that made the decision."""
    asked = CycleReplay(contested_cluster(SeededDraw(seed)), PROFILE)
    for group in asked.result.groups:
        action = BUILT_IN.actions.get(group.action)
        if action is not None and action in asked.searches():
            asking = VictimQuery(asked.before_search(action, group.beneficiary), action, group.beneficiary)
            victims = {asked.cluster.tasks[evict.task].pod_group for evict in group.evictions}
            assert asking.entry() is None
            assert {victim: asking.protection(victim) for victim in victims} == dict.fromkeys(victims)
            assert victims <= set(next(asking.orders()))


@pytest.mark.parametrize("seed", range(40))
def test_every_candidate_of_a_pod_group_without_solution_is_ineligible_alone(seed: int) -> None:
    asked = CycleReplay(contested_cluster(SeededDraw(seed)), PROFILE)
    for outcome in asked.result.outcomes:
        if outcome.reason.code is ReasonCode.NO_SOLUTION:
            context = asked.before_search(PREEMPT, outcome.pod_group)
            asking = VictimQuery(context, PREEMPT, outcome.pod_group)
            for victim, _ in asking.candidates():
                assert asking.ineligibility(victim) is not None


def test_victim_position_names_the_next_candidate_and_the_criterion() -> None:
    asked, names = inquiry(contest())
    context = asked.before_search(PREEMPT, names["job"])
    found = find_position(context, VictimQuery(context, PREEMPT, names["job"]), names["low"], 3)
    assert found.earlier == ()
    assert found.later == (Precedence(names["young"], OrderCriterion.PLUGIN, "priority"),)
    after = find_position(context, VictimQuery(context, PREEMPT, names["job"]), names["young"], 3)
    assert after.earlier == (names["low"],)


def test_younger_of_equal_candidates_is_evicted_first() -> None:
    builder = ClusterBuilder().node("n1", gpus=2).queue("q")
    builder.running("elder", queue="q", gpus=1, node="n1", priority=40)
    builder.running("younger", queue="q", gpus=1, node="n1", priority=40)
    asked, names = inquiry(builder.pending("job", queue="q", gpus=1))
    context = asked.before_search(PREEMPT, names["job"])
    found = find_position(context, VictimQuery(context, PREEMPT, names["job"]), names["younger"], 1)
    assert found.later == (Precedence(names["elder"], OrderCriterion.AGE),)


@pytest.mark.parametrize(
    ("victim", "step", "code"),
    [
        ("old", EligibilityStage.NOT_EVICTABLE, ReasonCode.PRIORITY_NOT_LOWER),
        ("low", None, None),
    ],
)
def test_first_ineligibility_is_reported(
    victim: str, step: EligibilityStage | None, code: ReasonCode | None
) -> None:
    asked, names = inquiry(contest())
    found = VictimQuery(asked.before(0), PREEMPT, names["job"]).ineligibility(names[victim])
    assert (found and found.stage, found and found.rejection.code) == (step, code)


def test_victim_query_leaves_the_state_unchanged() -> None:
    asked, names = inquiry(contest())
    context = asked.before(0)
    before = state(context)
    asking = VictimQuery(context, PREEMPT, names["job"])
    asking.ineligibility(names["low"])
    [list(order) for order in asking.orders()]
    assert state(context) == before


def test_replay_has_the_tokens_of_withdrawn_notices() -> None:
    builder = ClusterBuilder().node("n1", gpus=1).queue("q", quota=1)
    builder.running("victim", queue="q", gpus=1, node="n1", priority=50, notice="2m")
    cluster = builder.pending("job", queue="q", gpus=1, priority=75).build()
    rate, hour = EvictionRate("pods", 1, 24 * 3600 * SECOND, 2), 3600 * SECOND
    options = replace(PROFILE.options, max_notice=hour, eviction_rates=(rate,))
    profile = replace(PROFILE, options=options)
    expired = apply_decisions(cluster, answer(cluster, profile), hour)
    replay = CycleReplay(expired, profile)
    assert [status.before for status in replay.result.eviction_rates] == [2 * TOKEN]
    assert replay.before(0).session.disruptions.pacing.status(())[0].before == 2 * TOKEN
