"""Pod groups that are close to their expected end are protected."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.requeue import ParsedValue, RequeueSettings
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import NOW
from tenure.terms.durations import SECOND, parse_duration
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import (
    contested_cluster,
    evictions_of,
    guard_verdict,
    profile,
    reported_protection,
)

GUARD = "nearcompletion"
HOUR = 3600 * SECOND
TIMES = {
    "long before its end": ("10m", {}, False),
    "a second before the default window of 10m": ("49m59s", {}, False),
    "now = end - window": ("50m", {}, True),
    "a second before its end": ("59m59s", {}, True),
    "now = end": ("1h", {}, False),
    "long after its end": ("3h", {}, False),
    "a second before the window of the argument": ("29m59s", {"window": "30m"}, False),
    "at the window of the argument": ("30m", {"window": "30m"}, True),
    "a window longer than it runs: from its start": ("0s", {"window": "2h"}, True),
    "a window longer than it runs: to its end": ("1h", {"window": "2h"}, False),
    "no window, a second before its end": ("59m59s", {"window": "0s"}, False),
    "no window, at its end": ("1h", {"window": "0s"}, False),
}
TAKING = ("reclaim", "preempt", "consolidation")
"""Actions other than requeue, which evicts only pod groups past their expected runtime."""


def with_runtime(action: str, ran: str | None, runtime: str = "1h", **options: object) -> Cluster:
    """`old` has run for `ran` of its expected runtime."""
    return contested_cluster(action, started_ago=ran, expected_runtime=runtime, **options)


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize(("ran", "arguments", "is_near"), TIMES.values(), ids=TIMES)
def test_pod_group_near_completion_is_not_evicted_by_any_action(
    action: str, ran: str, arguments: dict[str, str], is_near: bool
) -> None:
    cluster = with_runtime(action, ran)
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_near else {action})


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize(("ran", "arguments", "is_near"), TIMES.values(), ids=TIMES)
def test_verdict_is_the_same_for_every_action(
    action: str, ran: str, arguments: dict[str, str], is_near: bool
) -> None:
    """Requeue is included, because plugins other than expectedruntime can nominate."""
    verdict = guard_verdict(with_runtime(action, ran), action, GUARD, **arguments)
    assert verdict is not None
    assert verdict.scope is (ProtectionScope.ALL if is_near else ProtectionScope.NOTHING)
    assert verdict.until == NOW - parse_duration(ran) + HOUR


def test_overdue_pod_group_is_not_protected_from_requeue() -> None:
    """Both use the same times: the protection ends exactly when the nomination begins."""
    before, at = with_runtime("requeue", "59m59s"), with_runtime("requeue", "1h")
    assert evictions_of(before, answer(before, profile(GUARD, "requeue"))) == []
    assert {how for how, _ in evictions_of(at, answer(at, profile(GUARD, "requeue")))} == {"requeue"}


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = with_runtime(action, "55m")
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (guard_verdict(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", TAKING)
def test_surplus_is_protected_as_well(action: str) -> None:
    cluster = with_runtime(action, "55m", min_member=1)
    assert evictions_of(cluster, answer(cluster, profile(GUARD, action))) == []


UNKNOWN = {
    "nobody says how long it should run": {"started_ago": "55m", "requeue": RequeueSettings()},
    "what it says cannot be read": {
        "started_ago": "55m",
        "requeue": RequeueSettings(ParsedValue(None, "'1 hour' is not a duration")),
    },
    "nobody says since when it runs": {"started_ago": None, "expected_runtime": "1h"},
}


@pytest.mark.parametrize("options", UNKNOWN.values(), ids=UNKNOWN)
def test_pod_group_with_unknown_end_is_not_protected(options: dict[str, object]) -> None:
    verdict = guard_verdict(contested_cluster("preempt", **options), "preempt", GUARD, window="10h")
    assert verdict is not None
    assert (verdict.scope, verdict.until) == (ProtectionScope.NOTHING, None)


def test_pod_group_with_start_time_in_the_future_is_not_protected() -> None:
    cluster = with_runtime("preempt", "1s")
    skewed = PersistentVector(
        replace(group, facts=replace(group.facts, last_start=NOW + 1)) if group.facts.name == "old" else group
        for group in cluster.pod_groups
    )
    verdict = guard_verdict(replace(cluster, pod_groups=skewed), "preempt", GUARD, window="10h")
    assert verdict is not None
    assert verdict.scope is ProtectionScope.NOTHING


def with_queue_runtime(text: str | None, own: ParsedValue) -> Cluster:
    """Queue `a` of `old` sets an expected runtime; `old` may set its own."""
    cluster = contested_cluster("preempt", started_ago="55m", requeue=RequeueSettings(own))
    value = None if text is None else parse_duration(text)
    queues = (
        replace(queue, facts=replace(queue.facts, expected_runtime=value), nearest_runtime=value or None)
        for queue in cluster.queues
    )
    return replace(cluster, queues=tuple(queues))


NOT_SET, OWN, BAD = ParsedValue(), ParsedValue(HOUR), ParsedValue(None, "'x' is not a duration")
SOURCES = {
    "its own": (None, OWN, {}, ProtectionScope.ALL, "its own expected runtime"),
    "its own before the queue's": ("5h", OWN, {}, ProtectionScope.ALL, "its own expected runtime"),
    "the queue's": ("1h", NOT_SET, {}, ProtectionScope.ALL, "queue a"),
    "an explicit zero of the queue: not known": (
        "0s",
        NOT_SET,
        {},
        ProtectionScope.NOTHING,
        "default of nearcompletion",
    ),
    "a bad value is not replaced": ("1h", BAD, {}, ProtectionScope.NOTHING, "its own expected runtime"),
    "nobody's: default window": (None, NOT_SET, {}, ProtectionScope.NOTHING, "default of nearcompletion"),
    "nobody's: argument": (None, NOT_SET, {"window": "5m"}, ProtectionScope.NOTHING, "argument window"),
}


@pytest.mark.parametrize(("queue", "own", "arguments", "scope", "source"), SOURCES.values(), ids=SOURCES)
def test_expected_runtime_is_resolved_from_pod_group_or_nearest_queue_r12_72(
    queue: str | None, own: ParsedValue, arguments: dict[str, str], scope: ProtectionScope, source: str
) -> None:
    verdict = guard_verdict(with_queue_runtime(queue, own), "preempt", GUARD, **arguments)
    assert verdict is not None
    assert (verdict.scope, verdict.source) == (scope, source)


def test_verdict_has_detail_and_end() -> None:
    cluster, ends = with_runtime("preempt", "55m"), NOW + 300 * SECOND
    assert guard_verdict(cluster, "preempt", GUARD) == GuardVerdict(
        ProtectionScope.ALL,
        "its own expected runtime",
        ends,
        "old is close to its expected end",
        ReasonCode.NEAR_COMPLETION,
        GUARD,
    )
    (protection,) = reported_protection(cluster, GUARD, actions="preempt, reclaim")
    assert protection[1:] == (
        GUARD,
        ("reclaim", "preempt"),
        ends,
        "its own expected runtime",
        "",
        ProtectionScope.ALL,
        None,
    )
    assert answer(cluster, profile(GUARD)).next_wake_time == ends


def test_outcome_of_the_preemptor_has_the_end_of_the_protection() -> None:
    cluster, ends = with_runtime("preempt", "55m"), NOW + 300 * SECOND
    (outcome,) = answer(cluster, profile(GUARD, "preempt")).outcomes
    assert (outcome.kind, outcome.reason.code) == (OutcomeKind.DELAYED, ReasonCode.NEAR_COMPLETION)
    assert (outcome.reason.until, outcome.reason.source) == (ends, GUARD)


def test_start_of_a_protection_sets_no_wake_time() -> None:
    """The end of a protection can permit new decisions; its beginning cannot."""
    cluster = with_runtime("preempt", "10m")
    assert reported_protection(cluster, GUARD) == []
    assert answer(cluster, profile(GUARD)).next_wake_time is None


def test_non_preemptible_pod_group_has_no_reported_protection() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert reported_protection(with_runtime("preempt", "55m", preemptibility=firm), GUARD) == []


@pytest.mark.parametrize("text", ["0", "10m", "1d"])
def test_valid_windows_are_accepted(text: str) -> None:
    assert check_profile(profile(GUARD, window=text)) == []


@pytest.mark.parametrize("text", ["", "10", "-10m", "soon"])
def test_invalid_windows_are_rejected(text: str) -> None:
    ((path, problem),) = check_profile(profile(GUARD, window=text))
    assert path.endswith(".arguments.window")
    assert problem.startswith(f"{text!r} is not a duration")
    assert problem.endswith(": write it like 30s, 1h30m or 2d")


def test_guard_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
