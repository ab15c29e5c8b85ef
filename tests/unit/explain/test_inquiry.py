"""An inquiry goes back to any moment of its cycle, and asks what the actions ask there."""

import pytest
from tenure.solver.actions.context import Context
from tenure.solver.explain.asking import Asking, Step
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.explain.ranking import Precedence, Rank, place
from tenure.solver.model.reason import ReasonCode
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.properties.clusters import random_cluster
from tests.properties.contested import contested_cluster
from tests.properties.draw import SeededDraw

PROFILE = default_profile()
SEARCHED = ("consolidation", "reclaim", "preempt")


def inquiry(builder: ClusterBuilder) -> tuple[Inquiry, dict[str, int]]:
    cluster = builder.build()
    return Inquiry.of(cluster, PROFILE), {group.name: group.index for group in cluster.pod_groups}


def contest() -> ClusterBuilder:
    """`low` and `young` might yield to `job`; one of them is enough."""
    builder = ClusterBuilder().node("n1", gpus=3).queue("q")
    builder.running("low", queue="q", gpus=1, node="n1", priority=40)
    builder.running("young", queue="q", gpus=1, node="n1", priority=45)
    builder.running("old", queue="q", gpus=1, node="n1", priority=60)
    return builder.pending("job", queue="q", gpus=1, priority=60)


def state(context: Context) -> tuple[object, ...]:
    ledger = context.session.ledger
    return list(ledger.placements), list(ledger.active_allocated), dict(context.session.memory)


@pytest.mark.parametrize("seed", range(12))
def test_the_state_after_all_commits_is_the_end_of_the_cycle(seed: int) -> None:
    for draw in (random_cluster, contested_cluster):
        asked = Inquiry.of(draw(SeededDraw(seed)), PROFILE)
        journal = asked.end.session.journal
        assert state(asked.before(len(journal))) == state(asked.end)


@pytest.mark.parametrize("seed", range(40))
def test_every_victim_is_found_willing_where_its_search_began(seed: int) -> None:
    """The chain that answers is the chain that decided."""
    asked = Inquiry.of(contested_cluster(SeededDraw(seed)), PROFILE)
    for group in asked.decision.groups:
        if group.action in SEARCHED:
            asking = Asking(
                asked.before_search(group.action, group.beneficiary), group.action, group.beneficiary
            )
            victims = {asked.cluster.tasks[evict.task].pod_group for evict in group.evictions}
            assert asking.entry() is None
            assert {victim: asking.spared(victim) for victim in victims} == dict.fromkeys(victims)
            assert victims <= set(asking.order())


@pytest.mark.parametrize("seed", range(40))
def test_who_waits_for_want_of_victims_could_not_have_had_any_of_them_alone(seed: int) -> None:
    asked = Inquiry.of(contested_cluster(SeededDraw(seed)), PROFILE)
    for outcome in asked.decision.outcomes:
        if outcome.reason.code is ReasonCode.NO_SOLUTION:
            context = asked.before_search("preempt", outcome.pod_group)
            asking = Asking(context, "preempt", outcome.pod_group)
            for victim, _ in asking.candidates():
                assert asking.objection(victim) is not None


def test_the_order_tells_who_comes_next_and_why() -> None:
    asked, names = inquiry(contest())
    context = asked.before_search("preempt", names["job"])
    found = place(context, Asking(context, "preempt", names["job"]), names["low"], 3)
    assert found.earlier == ()
    assert found.later == (Precedence(names["young"], Rank.PLUGIN, "priority"),)
    after = place(context, Asking(context, "preempt", names["job"]), names["young"], 3)
    assert after.earlier == (names["low"],)


def test_of_equals_the_younger_yields_first() -> None:
    builder = ClusterBuilder().node("n1", gpus=2).queue("q")
    builder.running("elder", queue="q", gpus=1, node="n1", priority=40)
    builder.running("younger", queue="q", gpus=1, node="n1", priority=40)
    asked, names = inquiry(builder.pending("job", queue="q", gpus=1))
    context = asked.before_search("preempt", names["job"])
    found = place(context, Asking(context, "preempt", names["job"]), names["younger"], 1)
    assert found.later == (Precedence(names["elder"], Rank.AGE),)


@pytest.mark.parametrize(
    ("victim", "step", "code"),
    [
        ("old", Step.MAY_NOT_YIELD, ReasonCode.PRIORITY),
        ("low", None, None),
    ],
)
def test_the_first_objection_is_the_answer(victim: str, step: Step | None, code: ReasonCode | None) -> None:
    asked, names = inquiry(contest())
    found = Asking(asked.before(0), "preempt", names["job"]).objection(names[victim])
    assert (found and found.step, found and found.rejection.code) == (step, code)


def test_asking_leaves_no_trace() -> None:
    asked, names = inquiry(contest())
    context = asked.before(0)
    before = state(context)
    asking = Asking(context, "preempt", names["job"])
    asking.objection(names["low"])
    list(asking.order())
    assert state(context) == before
