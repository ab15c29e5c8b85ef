"""Who is close to its expected end is let finish."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.column import Column
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.duration import SECOND, parse_duration
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.requeue import RequeueTerms, Setting
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import NOW

from tests.unit.plugins.four_actions import in_the_way, profile, said, shown, taken

GUARD = "nearend"
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
"""Requeue takes those only whose expected end is over."""


def expected(action: str, ran: str | None, runtime: str = "1h", **options: object) -> Cluster:
    """`old` has run for `ran` of what was expected."""
    return in_the_way(action, started_ago=ran, expected_runtime=runtime, **options)


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize(("ran", "arguments", "is_near"), TIMES.values(), ids=TIMES)
def test_no_action_takes_who_is_near_its_end(
    action: str, ran: str, arguments: dict[str, str], is_near: bool
) -> None:
    cluster = expected(action, ran)
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_near else {action})


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize(("ran", "arguments", "is_near"), TIMES.values(), ids=TIMES)
def test_every_action_is_told_the_same(
    action: str, ran: str, arguments: dict[str, str], is_near: bool
) -> None:
    """Requeue too, for what else may nominate."""
    verdict = said(expected(action, ran), action, GUARD, **arguments)
    assert verdict is not None
    assert verdict.scope is (Scope.ALL if is_near else Scope.NOTHING)
    assert verdict.until == NOW - parse_duration(ran) + HOUR


def test_it_does_not_keep_who_is_overdue_from_a_requeue() -> None:
    """Both count from the same times: where the one ends, the other begins."""
    before, at = expected("requeue", "59m59s"), expected("requeue", "1h")
    assert taken(before, decide(before, profile(GUARD, "requeue"))) == []
    assert {how for how, _ in taken(at, decide(at, profile(GUARD, "requeue")))} == {"requeue"}


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize("guarded", EVICTING_ACTIONS)
def test_it_has_a_say_in_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = expected(action, "55m")
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (said(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", TAKING)
def test_not_even_surplus_is_taken(action: str) -> None:
    cluster = expected(action, "55m", min_member=1)
    assert taken(cluster, decide(cluster, profile(GUARD, action))) == []


UNKNOWN = {
    "nobody says how long it should run": {"started_ago": "55m", "requeue": RequeueTerms()},
    "what it says cannot be read": {
        "started_ago": "55m",
        "requeue": RequeueTerms(Setting(None, "'1 hour' is not a duration")),
    },
    "nobody says since when it runs": {"started_ago": None, "expected_runtime": "1h"},
}


@pytest.mark.parametrize("options", UNKNOWN.values(), ids=UNKNOWN)
def test_whose_end_is_not_known_is_not_near_it(options: dict[str, object]) -> None:
    verdict = said(in_the_way("preempt", **options), "preempt", GUARD, window="10h")
    assert verdict is not None
    assert (verdict.scope, verdict.until) == (Scope.NOTHING, None)


def test_who_starts_in_the_future_is_not_near_its_end() -> None:
    cluster = expected("preempt", "1s")
    skewed = Column(
        replace(group, last_start=NOW + 1) if group.name == "old" else group for group in cluster.pod_groups
    )
    verdict = said(replace(cluster, pod_groups=skewed), "preempt", GUARD, window="10h")
    assert verdict is not None
    assert verdict.scope is Scope.NOTHING


def queue_says(text: str | None, own: Setting) -> Cluster:
    """Queue `a`, which `old` is in, says how long its pod groups should run; `old` may say so itself."""
    cluster = in_the_way("preempt", started_ago="55m", requeue=RequeueTerms(own))
    value = None if text is None else parse_duration(text)
    queues = (replace(queue, expected_runtime=value) for queue in cluster.queues)
    return replace(cluster, queues=tuple(queues))


NOT_SET, OWN, BAD = Setting(), Setting(HOUR), Setting(None, "'x' is not a duration")
WORDS = {
    "its own": (None, OWN, {}, Scope.ALL, "its own expected runtime"),
    "its own before the queue's": ("5h", OWN, {}, Scope.ALL, "its own expected runtime"),
    "the queue's": ("1h", NOT_SET, {}, Scope.ALL, "queue a"),
    "an explicit zero of the queue: not known": ("0s", NOT_SET, {}, Scope.NOTHING, "default of nearend"),
    "a bad value is not replaced": ("1h", BAD, {}, Scope.NOTHING, "its own expected runtime"),
    "nobody's: default window": (None, NOT_SET, {}, Scope.NOTHING, "default of nearend"),
    "nobody's: argument": (None, NOT_SET, {"window": "5m"}, Scope.NOTHING, "argument window"),
}


@pytest.mark.parametrize(("queue", "own", "arguments", "scope", "source"), WORDS.values(), ids=WORDS)
def test_it_goes_by_the_word_of_who_says_how_long_it_runs_r12_72(
    queue: str | None, own: Setting, arguments: dict[str, str], scope: Scope, source: str
) -> None:
    verdict = said(queue_says(queue, own), "preempt", GUARD, **arguments)
    assert verdict is not None
    assert (verdict.scope, verdict.source) == (scope, source)


def test_it_says_how_long_it_protects_and_when_that_ends() -> None:
    cluster, ends = expected("preempt", "55m"), NOW + 300 * SECOND
    assert said(cluster, "preempt", GUARD) == GuardVerdict(
        GUARD,
        Scope.ALL,
        "its own expected runtime",
        ends,
        ReasonCode.NEAR_END,
        "old is expected to end in 5m",
    )
    (protection,) = shown(cluster, GUARD, actions="preempt, reclaim")
    assert protection[1:] == (
        GUARD,
        ("reclaim", "preempt"),
        ends,
        "its own expected runtime",
        "",
        Scope.ALL,
        None,
    )
    assert decide(cluster, profile(GUARD)).next_wake == ends


def test_who_waits_for_it_is_told_until_when() -> None:
    cluster, ends = expected("preempt", "55m"), NOW + 300 * SECOND
    (outcome,) = decide(cluster, profile(GUARD, "preempt")).outcomes
    assert (outcome.kind, outcome.reason.code) == (OutcomeKind.DELAYED, ReasonCode.NEAR_END)
    assert (outcome.reason.until, outcome.reason.source) == (ends, GUARD)


def test_nobody_is_woken_when_a_protection_begins() -> None:
    """At the end of the protection more becomes possible, at its beginning less."""
    cluster = expected("preempt", "10m")
    assert shown(cluster, GUARD) == []
    assert decide(cluster, profile(GUARD)).next_wake is None


def test_who_is_never_evicted_anyway_is_not_let_finish() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert shown(expected("preempt", "55m", preemptibility=firm), GUARD) == []


@pytest.mark.parametrize("text", ["0", "10m", "1d"])
def test_windows_that_are_taken(text: str) -> None:
    assert check_profile(profile(GUARD, window=text)) == []


@pytest.mark.parametrize("text", ["", "10", "-10m", "soon"])
def test_windows_that_are_refused(text: str) -> None:
    ((path, problem),) = check_profile(profile(GUARD, window=text))
    assert path.endswith(".arguments.window")
    assert problem == f"{text!r} is not a duration: write it like 30s, 1h30m or 2d"


def test_it_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
