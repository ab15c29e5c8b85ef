"""Who has waited long enough after evictions, all in all, is not evicted any more."""

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.duration import SECOND
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import ClusterBuilder, next_cluster

from tests.unit.plugins.four_actions import in_the_way, profile, said, shown, taken

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


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize(("waited", "arguments", "is_immune"), LIMITS.values(), ids=LIMITS)
def test_no_action_takes_who_has_waited_long_enough(
    action: str, waited: str, arguments: dict[str, str], is_immune: bool
) -> None:
    cluster = in_the_way(action, waited=waited)
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_immune else {action})


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize("guarded", EVICTING_ACTIONS)
def test_it_has_a_say_in_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = in_the_way(action, waited="2d")
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (said(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
def test_not_even_surplus_is_taken(action: str) -> None:
    cluster = in_the_way(action, waited="2d", min_member=1)
    assert taken(cluster, decide(cluster, profile(GUARD, action))) == []


SOURCES = {"default of waitlimit": {}, "argument maxWait": {"maxWait": "24h"}}


@pytest.mark.parametrize(("source", "arguments"), SOURCES.items(), ids=SOURCES)
def test_it_says_by_whose_word(source: str, arguments: dict[str, str]) -> None:
    free, immune = in_the_way("preempt", waited="1h"), in_the_way("preempt", waited="25h")
    assert said(free, "preempt", GUARD, **arguments) == GuardVerdict(GUARD, Scope.NOTHING, source)
    assert said(immune, "preempt", GUARD, **arguments) == GuardVerdict(
        GUARD,
        Scope.ALL,
        source,
        None,
        ReasonCode.WAIT_LIMIT,
        "old has waited long enough after evictions (1d1h, with a limit of 1d)",
    )
    assert shown(free, GUARD, **arguments) == []
    (protection,) = shown(immune, GUARD, **arguments)
    assert protection[1:] == (GUARD, EVICTING_ACTIONS, None, source, "", Scope.ALL, None)


def test_who_is_never_evicted_anyway_needs_no_limit() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert shown(in_the_way("preempt", waited="2d", preemptibility=firm), GUARD) == []


def test_time_alone_does_not_end_it() -> None:
    assert decide(in_the_way("preempt", waited="2d"), profile(GUARD, "preempt")).next_wake is None


def test_waits_add_up_until_the_limit_is_reached() -> None:
    """Evicted, an hour without room, started again: the answer's own patches bring it to its limit."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.pending("old", queue="q", gpus=1, started_ago="3h", evicted_ago="1h", waited="30m")
    cluster = builder.build()
    limited = profile(GUARD, "preempt", maxWait="90m")
    later = next_cluster(cluster, decide(cluster, limited), SECOND)
    (old,) = later.pod_groups
    assert old.waited_after_evictions == HOUR + HOUR // 2
    (protection,) = decide(later, limited).protections
    assert (protection.guard, protection.scope, protection.until) == (GUARD, Scope.ALL, None)


@pytest.mark.parametrize("text", ["1ns", "24h", "1w"])
def test_durations_that_are_taken(text: str) -> None:
    assert check_profile(profile(GUARD, maxWait=text)) == []


REFUSED = {
    "0": "'0' would make everybody immune at once; use a duration above zero",
    "0s": "'0s' would make everybody immune at once; use a duration above zero",
    "24": "'24' is not a duration: write it like 30s, 1h30m or 2d",
    "-1h": "'-1h' is not a duration: write it like 30s, 1h30m or 2d",
    "": "'' is not a duration: write it like 30s, 1h30m or 2d",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=REFUSED)
def test_durations_that_are_refused(text: str, problem: str) -> None:
    ((path, found),) = check_profile(profile(GUARD, maxWait=text))
    assert path.endswith(".arguments.maxWait")
    assert found == problem


def test_it_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
