"""Who was evicted often enough is not evicted any more."""

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import PatchKind, Protection
from tenure.solver.model.duration import SECOND
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import Preemptibility
from tenure.solver.registry import DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import next_cluster

from tests.unit.plugins.four_actions import in_the_way, profile, said, shown, taken

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


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize(("count", "arguments", "is_immune"), LIMITS.values(), ids=LIMITS)
def test_no_action_takes_who_was_evicted_often_enough(
    action: str, count: int, arguments: dict[str, str], is_immune: bool
) -> None:
    cluster = in_the_way(action, eviction_count=count)
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_immune else {action})


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize("guarded", EVICTING_ACTIONS)
def test_it_has_a_say_in_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = in_the_way(action, eviction_count=3)
    evicted = taken(cluster, decide(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (said(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
def test_not_even_surplus_is_taken(action: str) -> None:
    cluster = in_the_way(action, eviction_count=3, min_member=1)
    assert taken(cluster, decide(cluster, profile(GUARD, action))) == []


SOURCES = {"default of evictionlimit": {}, "argument maxEvictions": {"maxEvictions": "3"}}


@pytest.mark.parametrize(("source", "arguments"), SOURCES.items(), ids=SOURCES)
def test_it_says_by_whose_word(source: str, arguments: dict[str, str]) -> None:
    free, immune = in_the_way("preempt", eviction_count=2), in_the_way("preempt", eviction_count=3)
    assert said(free, "preempt", GUARD, **arguments) == GuardVerdict(GUARD, Scope.NOTHING, source)
    assert said(immune, "preempt", GUARD, **arguments) == GuardVerdict(
        GUARD,
        Scope.ALL,
        source,
        None,
        ReasonCode.EVICTION_LIMIT,
        "old was evicted often enough (3, with a limit of 3)",
    )
    assert shown(free, GUARD, **arguments) == []
    (protection,) = shown(immune, GUARD, **arguments)
    assert protection[1:] == (GUARD, EVICTING_ACTIONS, None, source, "", Scope.ALL, None)


def test_the_answer_names_the_actions_it_protects_from() -> None:
    (protection,) = shown(in_the_way("preempt", eviction_count=3), GUARD, actions="requeue,reclaim")
    assert isinstance(protection, Protection)
    assert protection.actions == ("reclaim", "requeue")


def test_who_is_never_evicted_anyway_needs_no_limit() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert shown(in_the_way("preempt", eviction_count=3, preemptibility=firm), GUARD) == []


def test_time_alone_does_not_end_it() -> None:
    cluster = in_the_way("preempt", eviction_count=3)
    assert decide(cluster, profile(GUARD, "preempt")).next_wake is None


def test_every_eviction_counts_until_the_limit_is_reached() -> None:
    """The answer's own patches bring a pod group to its limit."""
    cluster = in_the_way("preempt", eviction_count=1, min_member=1)
    limited = profile(GUARD, "preempt", maxEvictions="2")
    first = decide(cluster, limited)
    assert taken(cluster, first) == [("preempt", "old-0"), ("preempt", "old-1")]
    patches = [p.value for g in first.groups for p in g.patches if p.kind is PatchKind.EVICTION_COUNT]
    assert patches == [2]
    later = next_cluster(cluster, first, SECOND)
    old = next(group for group in later.pod_groups if group.name == "old")
    assert old.eviction_count == 2
    assert said(later, "preempt", GUARD, maxEvictions="2").scope is Scope.ALL


@pytest.mark.parametrize("text", ["1", "3", "250"])
def test_numbers_that_are_taken(text: str) -> None:
    assert check_profile(profile(GUARD, maxEvictions=text)) == []


@pytest.mark.parametrize("text", ["", "0", "-1", "+3", "3.0", "three", "1h", " 3", "1_000", "³"])
def test_numbers_that_are_refused(text: str) -> None:
    ((path, problem),) = check_profile(profile(GUARD, maxEvictions=text))
    assert path.endswith(".arguments.maxEvictions")
    assert problem == f"{text!r} is not a number of evictions; use a whole number above zero"


def test_it_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
