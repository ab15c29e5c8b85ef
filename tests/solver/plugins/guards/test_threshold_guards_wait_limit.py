"""Pod groups that reached their limit of total time waited after evictions are not evicted."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile
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

GUARD = "waitlimit"
HOUR = 3600 * SECOND
LIMITS = {
    "never waited": ("0s", {}, False),
    "a second less than the default of 24h": ("23h59m59s", {}, False),
    "exactly the default of 24h": ("24h", {}, True),
    "longer than that": ("3d", {}, True),
    "a second less than the argument": ("59m59s", {"maxWait": "1h"}, False),
    "exactly the argument": ("1h", {"maxWait": "1h"}, True),
}


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize(("waited", "arguments", "is_immune"), LIMITS.values(), ids=LIMITS)
def test_pod_group_at_its_wait_limit_is_not_evicted_by_any_action(
    action: str, waited: str, arguments: dict[str, str], is_immune: bool
) -> None:
    cluster = contested_cluster(action, total_eviction_wait=waited)
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_immune else {action})


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = contested_cluster(action, total_eviction_wait="2d")
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (guard_verdict(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
def test_surplus_is_protected_as_well(action: str) -> None:
    cluster = contested_cluster(action, total_eviction_wait="2d", min_member=1)
    assert evictions_of(cluster, answer(cluster, profile(GUARD, action))) == []


SOURCES = {"default of waitlimit": {}, "argument maxWait": {"maxWait": "24h"}}


@pytest.mark.parametrize(("source", "arguments"), SOURCES.items(), ids=SOURCES)
def test_verdict_names_its_source(source: str, arguments: dict[str, str]) -> None:
    free, immune = (
        contested_cluster("preempt", total_eviction_wait="1h"),
        contested_cluster("preempt", total_eviction_wait="25h"),
    )
    assert guard_verdict(free, "preempt", GUARD, **arguments) == GuardVerdict(
        ProtectionScope.NOTHING, source, guard=GUARD
    )
    assert guard_verdict(immune, "preempt", GUARD, **arguments) == GuardVerdict(
        ProtectionScope.ALL,
        source,
        None,
        "old reached its wait limit (1d1h of 1d)",
        ReasonCode.WAIT_LIMIT,
        GUARD,
    )
    assert reported_protection(free, GUARD, **arguments) == []
    (protection,) = reported_protection(immune, GUARD, **arguments)
    assert protection[1:] == (GUARD, BUILT_IN.guarded.names, None, source, "", ProtectionScope.ALL, None)


def test_non_preemptible_pod_group_has_no_reported_protection() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert (
        reported_protection(
            contested_cluster("preempt", total_eviction_wait="2d", preemptibility=firm), GUARD
        )
        == []
    )


def test_protection_does_not_end_with_time() -> None:
    assert (
        answer(
            contested_cluster("preempt", total_eviction_wait="2d"), profile(GUARD, "preempt")
        ).next_wake_time
        is None
    )


def test_eviction_waits_add_up_to_the_limit() -> None:
    """Evicted, an hour pending, started again: patches increase the total wait up to the limit."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.pending("old", queue="q", gpus=1, started_ago="3h", evicted_ago="1h", total_eviction_wait="30m")
    cluster = builder.build()
    limited = profile(GUARD, "preempt", maxWait="90m")
    later = apply_decisions(cluster, answer(cluster, limited), SECOND)
    (old,) = later.pod_groups
    assert old.facts.total_eviction_wait == HOUR + HOUR // 2
    (protection,) = answer(later, limited).protections
    assert (protection.guard, protection.scope, protection.until) == (GUARD, ProtectionScope.ALL, None)


@pytest.mark.parametrize("text", ["1ns", "24h", "1w"])
def test_valid_durations_are_accepted(text: str) -> None:
    assert check_profile(profile(GUARD, maxWait=text)) == []


INVALID = {
    "0": "'0' would protect every pod group; use a duration above zero",
    "0s": "'0s' would protect every pod group; use a duration above zero",
    "24": "'24' is not a duration: write it like 30s, 1h30m or 2d",
    "-1h": "'-1h' is not a duration of zero or more: write it like 30s, 1h30m or 2d",
    "": "'' is not a duration: write it like 30s, 1h30m or 2d",
}


@pytest.mark.parametrize(("text", "problem"), INVALID.items(), ids=INVALID)
def test_invalid_durations_are_rejected(text: str, problem: str) -> None:
    ((path, found),) = check_profile(profile(GUARD, maxWait=text))
    assert path.endswith(".arguments.maxWait")
    assert found == problem


def test_guard_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
