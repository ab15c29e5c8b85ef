"""Pod groups that reached their eviction limit are not evicted."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import PatchKind
from tenure.solver.model.fate import Fate, HoldReason
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile, default_profile
from tenure.solver.testing import ClusterBuilder, apply_decisions
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import (
    contested_cluster,
    evictions_of,
    guard_verdict,
    profile,
    reported_protection,
)

GUARD = "evictionlimit"
LIMITS = {
    "never evicted": (0, {}, False),
    "one less than the default of 3": (2, {}, False),
    "as often as the default of 3": (3, {}, True),
    "more often than that": (9, {}, True),
    "one less than the argument": (4, {"maxEvictions": "5"}, False),
    "as often as the argument": (5, {"maxEvictions": "5"}, True),
    "once is enough": (1, {"maxEvictions": "1"}, True),
    "not even once": (0, {"maxEvictions": "1"}, False),
}


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize(("count", "arguments", "is_immune"), LIMITS.values(), ids=LIMITS)
def test_pod_group_at_its_eviction_limit_is_not_evicted_by_any_action(
    action: str, count: int, arguments: dict[str, str], is_immune: bool
) -> None:
    cluster = contested_cluster(action, eviction_count=count)
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_immune else {action})


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = contested_cluster(action, eviction_count=3)
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (guard_verdict(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
def test_surplus_is_protected_as_well(action: str) -> None:
    cluster = contested_cluster(action, eviction_count=3, min_member=1)
    assert evictions_of(cluster, answer(cluster, profile(GUARD, action))) == []


SOURCES = {"default of evictionlimit": {}, "argument maxEvictions": {"maxEvictions": "3"}}


@pytest.mark.parametrize(("source", "arguments"), SOURCES.items(), ids=SOURCES)
def test_verdict_names_its_source(source: str, arguments: dict[str, str]) -> None:
    free, immune = (
        contested_cluster("preempt", eviction_count=2),
        contested_cluster("preempt", eviction_count=3),
    )
    assert guard_verdict(free, "preempt", GUARD, **arguments) == GuardVerdict(
        ProtectionScope.NOTHING, source, guard=GUARD
    )
    assert guard_verdict(immune, "preempt", GUARD, **arguments) == GuardVerdict(
        ProtectionScope.ALL,
        source,
        None,
        "old reached its eviction limit (3 of 3)",
        ReasonCode.EVICTION_LIMIT,
        GUARD,
    )
    assert reported_protection(free, GUARD, **arguments) == []
    (protection,) = reported_protection(immune, GUARD, **arguments)
    assert protection[1:] == (GUARD, BUILT_IN.guarded.names, None, source, "", ProtectionScope.ALL, None)


def test_protection_lists_its_actions() -> None:
    (protection,) = reported_protection(
        contested_cluster("preempt", eviction_count=3), GUARD, actions="requeue,reclaim"
    )
    assert isinstance(protection, Protection)
    assert protection.actions == ("reclaim", "requeue")


def test_non_preemptible_pod_group_has_no_reported_protection() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert (
        reported_protection(contested_cluster("preempt", eviction_count=3, preemptibility=firm), GUARD) == []
    )


def test_protection_does_not_end_with_time() -> None:
    cluster = contested_cluster("preempt", eviction_count=3)
    assert answer(cluster, profile(GUARD, "preempt")).next_wake_time is None


def test_every_eviction_counts_until_the_limit_is_reached() -> None:
    """Patches of earlier responses increase the eviction count up to the limit."""
    cluster = contested_cluster("preempt", eviction_count=1, min_member=1)
    limited = profile(GUARD, "preempt", maxEvictions="2")
    first = answer(cluster, limited)
    assert evictions_of(cluster, first) == [("preempt", "old-0"), ("preempt", "old-1")]
    patches = [p.value for g in first.groups for p in g.patches if p.kind is PatchKind.EVICTION_COUNT]
    assert patches == [2]
    later = apply_decisions(cluster, first, SECOND)
    old = next(group for group in later.pod_groups if group.facts.name == "old")
    assert old.facts.eviction_count == 2
    assert guard_verdict(later, "preempt", GUARD, maxEvictions="2").scope is ProtectionScope.ALL


E14_5 = {"preempt": 1, "reclaim": 1, "stale_gang": 4}
HELD: dict[str, tuple[dict[str, int], dict[str, str], Fate, bool]] = {
    "E14.5: the eviction that reaches the limit holds it": (E14_5, {"then": "hold"}, Fate.HOLD, False),
    "E14.5, immune: the same eviction, and it is protected from then on": (
        E14_5,
        {"then": "immune"},
        Fate.UNSPECIFIED,
        True,
    ),
    "hold: below the limit": ({"preempt": 1}, {"then": "hold"}, Fate.UNSPECIFIED, False),
    "hold: again after its release": ({"preempt": 3}, {"then": "hold"}, Fate.HOLD, False),
    "hold: other causes do not count": (
        {"reclaim": 9},
        {"then": "hold", "causes": "preempt"},
        Fate.UNSPECIFIED,
        False,
    ),
    "hold: this eviction does not count": (
        {"external": 9},
        {"then": "hold", "causes": "external"},
        Fate.UNSPECIFIED,
        False,
    ),
}


@pytest.mark.parametrize(("evictions", "arguments", "fate", "is_immune"), HELD.values(), ids=HELD)
def test_limit_holds_or_protects_r14_33(
    evictions: dict[str, int], arguments: dict[str, str], fate: Fate, is_immune: bool
) -> None:
    cluster = contested_cluster("preempt", evictions=evictions)
    decision = answer(cluster, profile(GUARD, "preempt", **arguments))
    assert {evict.fate for group in decision.groups for evict in group.evictions} == {fate}
    patches = {p.kind: p for group in decision.groups for p in group.patches}
    assert patches[PatchKind.EVICTIONS].counts == {**evictions, "preempt": evictions.get("preempt", 0) + 1}
    if fate is Fate.HOLD:
        assert patches[PatchKind.HELD_BY].value == HoldReason.EVICTION_LIMIT
    else:
        assert PatchKind.HELD_BY not in patches
    later = apply_decisions(cluster, decision, SECOND)
    verdict = guard_verdict(later, "preempt", GUARD, **arguments)
    assert (verdict.scope is ProtectionScope.ALL) is is_immune


CAUSES = {
    "all of the caller": ({"external": 2}, 0, {"causes": "external", "maxEvictions": "2"}, True),
    "the sum of several": (
        {"external": 1, "stale_gang": 1},
        0,
        {"causes": "external, stale_gang", "maxEvictions": "2"},
        True,
    ),
    "others do not count": ({"preempt": 9}, 9, {"causes": "external"}, False),
    "by default, those for other pod groups": ({"preempt": 2, "requeue": 1, "external": 9}, 0, {}, True),
    "by default, of a caller that stores the sum only": ({}, 3, {}, True),
    "by default, no others": ({"external": 9, "stale_gang": 9}, 2, {}, False),
}


@pytest.mark.parametrize(("evictions", "total", "arguments", "is_immune"), CAUSES.values(), ids=CAUSES)
def test_causes_of_the_argument_count_r14_33(
    evictions: dict[str, int], total: int, arguments: dict[str, str], is_immune: bool
) -> None:
    cluster = contested_cluster("preempt", evictions=evictions, eviction_count=total)
    verdict = guard_verdict(cluster, "preempt", GUARD, **arguments)
    assert (verdict.scope is ProtectionScope.ALL) is is_immune


def test_surplus_waits_again_and_what_is_deleted_ends_r14_33_r14_35() -> None:
    deleted = contested_cluster("preempt", evictions={"preempt": 9}, on_evict=Fate.DELETE)
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.pod_group("old", queue="q", min_member=1, evictions={"preempt": 9}).running(
        "old", count=2, gpus=1, node="n"
    )
    shrunk = builder.pending("new", queue="q", gpus=1, priority=75).build()
    for cluster, expected in ((deleted, Fate.DELETE), (shrunk, Fate.UNSPECIFIED)):
        decision = answer(cluster, profile(GUARD, "preempt", then="hold"))
        assert {evict.fate for group in decision.groups for evict in group.evictions} == {expected}


def test_every_action_counts_its_own_cause_r14_32() -> None:
    for action in BUILT_IN.guarded.names:
        cluster = contested_cluster(action)
        decision = answer(cluster, profile(GUARD, action))
        [counts] = [p.counts for g in decision.groups for p in g.patches if p.kind is PatchKind.EVICTIONS]
        assert counts == {action: 1}


def test_stale_gangs_count_r14_32() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.pod_group("old", queue="q", min_member=2, stale_ago="2m", evictions={"stale_gang": 2})
    decision = answer(builder.running("old", gpus=1, node="n").build(), profile(GUARD, "stalegangeviction"))
    [counts] = [p.counts for g in decision.groups for p in g.patches if p.kind is PatchKind.EVICTIONS]
    assert counts == {"stale_gang": 3}


def test_nothing_is_counted_by_cause_without_the_guard_r14_32() -> None:
    decision = answer(contested_cluster("preempt"), default_profile())
    assert [p for g in decision.groups for p in g.patches if p.kind is PatchKind.EVICTIONS] == []


WRONG = {
    "causes": ("preempt, drain", "known: preempt, reclaim, consolidation, requeue, stale_gang, reservation"),
    "then": ("wait", "'wait' is neither immune nor hold"),
}


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_causes_and_consequences_are_refused(argument: str) -> None:
    text, expected = WRONG[argument]
    ((path, problem),) = check_profile(profile(GUARD, **{argument: text}))
    assert path.endswith(f".arguments.{argument}")
    assert expected in problem


@pytest.mark.parametrize("text", ["1", "3", "250"])
def test_valid_numbers_are_accepted(text: str) -> None:
    assert check_profile(profile(GUARD, maxEvictions=text)) == []


@pytest.mark.parametrize("text", ["", "0", "-1", "+3", "3.0", "three", "1h", " 3", "1_000", "³"])
def test_invalid_numbers_are_rejected(text: str) -> None:
    ((path, problem),) = check_profile(profile(GUARD, maxEvictions=text))
    assert path.endswith(".arguments.maxEvictions")
    assert problem == f"{text!r} is not a number of evictions; use a whole number above zero"


def test_guard_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
