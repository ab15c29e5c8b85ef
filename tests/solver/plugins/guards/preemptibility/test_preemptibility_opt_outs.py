"""An opt-out protects a pod group from an action; opting out of reclaim limits the pod group to its quota."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import contested_cluster, evictions_of

SEMI = Preemptibility.SEMI_PREEMPTIBLE
NON_PREEMPTIBLE = Preemptibility.NON_PREEMPTIBLE
PREEMPTIBLE = Preemptibility.PREEMPTIBLE


def only(action: str) -> Profile:
    """The default profile with only this evicting action."""
    return replace(default_profile(), actions=("allocate", action))


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize("opted_out", BUILT_IN.guarded.names)
def test_opt_out_protects_from_its_action_only(action: str, opted_out: str) -> None:
    cluster = contested_cluster(action, opt_out_actions=[opted_out])
    found = evictions_of(cluster, answer(cluster, only(action)))
    assert bool(found) is (action != opted_out)
    assert {by for by, _ in found} <= {action}


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
def test_opt_out_protects_surplus_as_well(action: str) -> None:
    """Without the opt-out the second of its two pods is evicted."""
    cluster = _contested_semi_preemptible(action, []).build()
    assert evictions_of(cluster, answer(cluster, only(action))) == [(action, "old-1")]
    cluster = _contested_semi_preemptible(action, [action]).build()
    assert evictions_of(cluster, answer(cluster, only(action))) == []


def _contested_semi_preemptible(action: str, opt_out_actions: list[str]) -> ClusterBuilder:
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
        opt_out_actions=opt_out_actions,
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


@pytest.mark.parametrize(("kind", "opt_out_actions", "expected"), PRICES.values(), ids=PRICES)
def test_pod_group_that_opts_out_of_reclaim_is_limited_to_quota(
    kind: Preemptibility, opt_out_actions: list[str], expected: int
) -> None:
    """Two pods, in a queue with a quota of one GPU. The minimum is two unless it is semi-preemptible."""
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=1)
    minimum = 1 if kind is SEMI else 2
    builder.pending(
        "job",
        queue="q",
        gpus=1,
        count=2,
        min_member=minimum,
        preemptibility=kind,
        opt_out_actions=opt_out_actions,
    )
    decision = answer(builder.build(), default_profile())
    assert sum(len(group.bindings) for group in decision.groups) == expected
    if not expected:
        (outcome,) = decision.outcomes
        assert outcome.reason.code is ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA


@pytest.mark.parametrize(("opt_out_actions", "expected"), [([], 1), (["reclaim"], 0)])
def test_running_pod_group_that_opts_out_of_reclaim_uses_quota(
    opt_out_actions: list[str], expected: int
) -> None:
    builder = ClusterBuilder().node("n", gpus=3).queue("q", quota=2)
    builder.running(
        "old", queue="q", gpus=1, count=2, min_member=1, node="n", opt_out_actions=opt_out_actions
    )
    builder.pending("new", queue="q", gpus=1, preemptibility=NON_PREEMPTIBLE)
    decision = answer(builder.build(), default_profile())
    assert sum(len(group.bindings) for group in decision.groups) == expected


@pytest.mark.parametrize(("opt_out_actions", "expected"), [([], True), (["reclaim"], False)])
def test_pod_group_that_opts_out_of_reclaim_reclaims_within_quota_only(
    opt_out_actions: list[str], expected: bool
) -> None:
    """The victim's queue has no fair share. The reclaimer's has a fair share of 2 and a quota of 1 GPU."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a", quota=0, weight=0).queue("b", quota=1)
    builder.running("old", queue="a", gpus=1, count=2, min_member=1, node="n")
    builder.pending("new", queue="b", gpus=1, count=2, opt_out_actions=opt_out_actions)
    assert bool(list(evictions(answer(builder.build(), default_profile())))) is expected


@pytest.mark.parametrize(
    ("opt_out_actions", "expected"), [([], True), (["reclaim"], False), (["preempt"], True)]
)
def test_no_pod_is_relocated_for_a_pod_group_that_opts_out_of_reclaim_r6_35(
    opt_out_actions: list[str], expected: bool
) -> None:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    for node in ("n1", "n2"):
        builder.running(f"on-{node}", queue="q", gpus=1, node=node)
    builder.pending("new", queue="q", gpus=2, opt_out_actions=opt_out_actions)
    assert bool(list(evictions(answer(builder.build(), default_profile())))) is expected


PROTECTIONS = {
    "nothing set": ({}, []),
    "one action": (
        {"opt_out_actions": ["preempt"]},
        [(("preempt",), "its own opt-out", ProtectionScope.ALL)],
    ),
    "named in the order of the actions": (
        {"opt_out_actions": ["requeue", "reclaim"]},
        [(("reclaim", "requeue"), "its own opt-out", ProtectionScope.ALL)],
    ),
    "the minimum from the others": (
        {"opt_out_actions": ["reclaim"], "preemptibility": SEMI},
        [
            (("reclaim",), "its own opt-out", ProtectionScope.ALL),
            (("preempt", "consolidation", "requeue"), "its own preemptibility", ProtectionScope.CORE),
        ],
    ),
    "all of it from the others": (
        {"opt_out_actions": ["preempt", "consolidation", "requeue"], "priority": 125},
        [
            (("preempt", "consolidation", "requeue"), "its own opt-out", ProtectionScope.ALL),
            (("reclaim",), "its priority 125", ProtectionScope.ALL),
        ],
    ),
    "all of them": (
        {"opt_out_actions": BUILT_IN.guarded.names, "preemptibility": NON_PREEMPTIBLE},
        [(BUILT_IN.guarded.names, "its own opt-out", ProtectionScope.ALL)],
    ),
}


@pytest.mark.parametrize(("options", "expected"), PROTECTIONS.values(), ids=PROTECTIONS)
def test_response_reports_protection_and_its_actions(options: dict, expected: list[tuple]) -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.running("old", queue="q", gpus=1, count=2, min_member=1, node="n", **options)
    found = answer(builder.build(), default_profile()).protections
    reported_protections = [
        (each.actions, each.source, each.scope) for each in found if each.guard == "preemptibility"
    ]
    assert reported_protections == expected
    assert all(each.until is None for each in found)
