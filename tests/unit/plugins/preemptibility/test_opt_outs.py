"""Who opts out of an action loses nothing to it; to opt out of reclaim has a price."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Profile
from tenure.solver.model.guard import EVICTING_ACTIONS, Scope
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions

from tests.unit.plugins.four_actions import in_the_way, taken

SEMI = Preemptibility.SEMI_PREEMPTIBLE
FIRM = Preemptibility.NON_PREEMPTIBLE
PREEMPTIBLE = Preemptibility.PREEMPTIBLE


def only(action: str) -> Profile:
    """The default profile, in which of the evicting actions just this one runs."""
    return replace(default_profile(), actions=("allocate", action))


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize("opted_out", EVICTING_ACTIONS)
def test_an_action_takes_nothing_of_who_opts_out_of_it_and_of_no_other(action: str, opted_out: str) -> None:
    cluster = in_the_way(action, opt_outs=[opted_out])
    found = taken(cluster, decide(cluster, only(action)))
    assert bool(found) is (action != opted_out)
    assert {by for by, _ in found} <= {action}


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
def test_not_even_surplus_goes(action: str) -> None:
    """Without the opt-out the second of its two pods does."""
    cluster = _semi_in_the_way(action, []).build()
    assert taken(cluster, decide(cluster, only(action))) == [(action, "old-1")]
    cluster = _semi_in_the_way(action, [action]).build()
    assert taken(cluster, decide(cluster, only(action))) == []


def _semi_in_the_way(action: str, opt_outs: list[str]) -> ClusterBuilder:
    builder = ClusterBuilder().node("n", gpus=3).queue("a", quota=0 if action == "reclaim" else 8)
    builder.queue("b", quota=8).node("n2", gpus=int(action == "consolidation"))
    builder.running(
        "old",
        queue="a",
        gpus=1,
        count=2,
        min_member=1,
        node="n",
        preemptibility=SEMI,
        expected_runtime="30m",
        opt_outs=opt_outs,
    )
    asking = "b" if action == "reclaim" else "a"
    return builder.pending("new", queue=asking, gpus=2, priority=75)


PRICES = {
    "preemptible, no opt-out: beyond quota": (PREEMPTIBLE, [], 2),
    "opting out of reclaim: within quota": (PREEMPTIBLE, ["reclaim"], 0),
    "opting out of others has no such price": (PREEMPTIBLE, ["preempt", "consolidation", "requeue"], 2),
    "opting out of reclaim and others": (PREEMPTIBLE, ["preempt", "reclaim"], 0),
    "semi-preemptible and opting out of reclaim: all of it within quota": (SEMI, ["reclaim"], 1),
    "semi-preemptible and opting out of preempt: its minimum within quota": (SEMI, ["preempt"], 2),
}


@pytest.mark.parametrize(("kind", "opt_outs", "expected"), PRICES.values(), ids=PRICES)
def test_who_opts_out_of_reclaim_stays_within_quota(
    kind: Preemptibility, opt_outs: list[str], expected: int
) -> None:
    """Two pods, both needed unless it is semi-preemptible, in a queue with a quota of one GPU."""
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=1)
    minimum = 1 if kind is SEMI else 2
    builder.pending(
        "job", queue="q", gpus=1, count=2, min_member=minimum, preemptibility=kind, opt_outs=opt_outs
    )
    decision = decide(builder.build(), default_profile())
    assert sum(len(group.bindings) for group in decision.groups) == expected
    if not expected:
        (outcome,) = decision.outcomes
        assert outcome.reason.code is ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA


@pytest.mark.parametrize(("opt_outs", "expected"), [([], 1), (["reclaim"], 0)])
def test_what_runs_and_opts_out_of_reclaim_uses_up_quota(opt_outs: list[str], expected: int) -> None:
    builder = ClusterBuilder().node("n", gpus=3).queue("q", quota=2)
    builder.running("old", queue="q", gpus=1, count=2, min_member=1, node="n", opt_outs=opt_outs)
    builder.pending("new", queue="q", gpus=1, preemptibility=FIRM)
    decision = decide(builder.build(), default_profile())
    assert sum(len(group.bindings) for group in decision.groups) == expected


@pytest.mark.parametrize(("opt_outs", "expected"), [([], True), (["reclaim"], False)])
def test_who_opts_out_of_reclaim_reclaims_within_quota_only(opt_outs: list[str], expected: bool) -> None:
    """Two GPUs in a queue without a share; the queue that asks has a share of two and a quota of one."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a", quota=0, weight=0).queue("b", quota=1)
    builder.running("old", queue="a", gpus=1, count=2, min_member=1, node="n")
    builder.pending("new", queue="b", gpus=1, count=2, opt_outs=opt_outs)
    assert bool(list(evictions(decide(builder.build(), default_profile())))) is expected


@pytest.mark.parametrize(("opt_outs", "expected"), [([], True), (["reclaim"], False), (["preempt"], True)])
def test_nobody_is_moved_for_who_opts_out_of_reclaim_r6_35(opt_outs: list[str], expected: bool) -> None:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    for node in ("n1", "n2"):
        builder.running(f"on-{node}", queue="q", gpus=1, node=node)
    builder.pending("new", queue="q", gpus=2, opt_outs=opt_outs)
    assert bool(list(evictions(decide(builder.build(), default_profile())))) is expected


PROTECTIONS = {
    "nothing said": ({}, []),
    "one action": ({"opt_outs": ["preempt"]}, [(("preempt",), "its own opt-out", Scope.ALL)]),
    "named in the order of the actions": (
        {"opt_outs": ["requeue", "reclaim"]},
        [(("reclaim", "requeue"), "its own opt-out", Scope.ALL)],
    ),
    "the minimum from the others": (
        {"opt_outs": ["reclaim"], "preemptibility": SEMI},
        [
            (("reclaim",), "its own opt-out", Scope.ALL),
            (("preempt", "consolidation", "requeue"), "its own preemptibility", Scope.CORE),
        ],
    ),
    "all of it from the others": (
        {"opt_outs": ["preempt", "consolidation", "requeue"], "priority": 125},
        [
            (("preempt", "consolidation", "requeue"), "its own opt-out", Scope.ALL),
            (("reclaim",), "its priority 125", Scope.ALL),
        ],
    ),
    "all of them": (
        {"opt_outs": EVICTING_ACTIONS, "preemptibility": FIRM},
        [(EVICTING_ACTIONS, "its own opt-out", Scope.ALL)],
    ),
}


@pytest.mark.parametrize(("options", "expected"), PROTECTIONS.values(), ids=PROTECTIONS)
def test_the_answer_says_what_protects_from_which_action(options: dict, expected: list[tuple]) -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.running("old", queue="q", gpus=1, count=2, min_member=1, node="n", **options)
    found = decide(builder.build(), default_profile()).protections
    told = [(each.actions, each.source, each.scope) for each in found if each.guard == "preemptibility"]
    assert told == expected
    assert all(each.until is None for each in found)
