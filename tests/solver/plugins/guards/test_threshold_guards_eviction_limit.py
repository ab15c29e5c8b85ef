"""Pod groups that reached their eviction limit are not evicted."""

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import PatchKind, Protection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import apply_decisions
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
    evicted = evictions_of(cluster, decide(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_immune else {action})


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = contested_cluster(action, eviction_count=3)
    evicted = evictions_of(cluster, decide(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (guard_verdict(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
def test_surplus_is_protected_as_well(action: str) -> None:
    cluster = contested_cluster(action, eviction_count=3, min_member=1)
    assert evictions_of(cluster, decide(cluster, profile(GUARD, action))) == []


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
    assert decide(cluster, profile(GUARD, "preempt")).next_wake_time is None


def test_every_eviction_counts_until_the_limit_is_reached() -> None:
    """Patches of earlier responses increase the eviction count up to the limit."""
    cluster = contested_cluster("preempt", eviction_count=1, min_member=1)
    limited = profile(GUARD, "preempt", maxEvictions="2")
    first = decide(cluster, limited)
    assert evictions_of(cluster, first) == [("preempt", "old-0"), ("preempt", "old-1")]
    patches = [p.value for g in first.groups for p in g.patches if p.kind is PatchKind.EVICTION_COUNT]
    assert patches == [2]
    later = apply_decisions(cluster, first, SECOND)
    old = next(group for group in later.pod_groups if group.facts.name == "old")
    assert old.facts.eviction_count == 2
    assert guard_verdict(later, "preempt", GUARD, maxEvictions="2").scope is ProtectionScope.ALL


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
