"""Who was evicted for a pod group leaves it alone for a while, and what came to nothing is not repeated."""

from typing import Any

import pytest
from tenure.solver.actions.notes import note_evictions
from tenure.solver.cycle import decide
from tenure.solver.model.duration import parse_duration
from tenure.solver.model.guard import EVICTING_ACTIONS, Scope
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.reason import ReasonCode
from tenure.solver.registry import DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import ClusterBuilder

from tests.sessions import open_session
from tests.unit.plugins.four_actions import in_the_way, taken
from tests.unit.plugins.two_memories import GUARD, ago, index_of, profile, remembering, said

COOLDOWNS = {
    "evicted just now": ("0s", {}, True),
    "a second less than the default of 5m": ("4m59s", {}, True),
    "as long as the default": ("5m", {}, False),
    "a second less than the argument": ("1h59m59s", {"cooldown": "2h"}, True),
    "as long as the argument": ("2h", {"cooldown": "2h"}, False),
    "no cooldown": ("0s", {"cooldown": "0s"}, False),
    "to be evicted in an hour, by a clock that is wrong": ("-1h", {}, True),
    "in an hour, and no cooldown": ("-1h", {"cooldown": "0s"}, True),
}


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize(("evicted", "arguments", "is_protected"), COOLDOWNS.values(), ids=COOLDOWNS)
def test_who_was_evicted_for_another_does_not_evict_it_in_turn(
    action: str, evicted: str, arguments: dict[str, str], is_protected: bool
) -> None:
    cluster = remembering(in_the_way(action), "new", "old", evicted=evicted)
    found = taken(cluster, decide(cluster, profile(action, **arguments)))
    assert {how for how, _ in found} == (set() if is_protected else {action})


BACKOFFS = {
    "nothing failed": (0, "0s", {}, False),
    "one failure, a second less than the default of 1m": (1, "59s", {}, True),
    "one failure, as long as the default": (1, "1m", {}, False),
    "two failures wait twice as long": (2, "1m59s", {}, True),
    "and no longer": (2, "2m", {}, False),
    "five failures wait 16 times as long": (5, "15m59s", {}, True),
    "and no longer than that": (5, "16m", {}, False),
    "not longer than the default of 1h": (7, "59m59s", {}, True),
    "though it would be 64m": (7, "1h", {}, False),
    "a huge number of failures": (2**30, "59m59s", {}, True),
    "a huge number of failures, an hour later": (2**30, "1h", {}, False),
    "the argument doubles too": (3, "39s", {"backoff": "10s"}, True),
    "to 40s": (3, "40s", {"backoff": "10s"}, False),
    "the longest backoff is an argument": (9, "1m59s", {"maxBackoff": "2m"}, True),
    "and counts": (9, "2m", {"maxBackoff": "2m"}, False),
    "it counts for the first failure as well": (1, "30s", {"maxBackoff": "30s"}, False),
    "no backoff": (9, "0s", {"backoff": "0s"}, False),
    "nothing is longest": (9, "0s", {"maxBackoff": "0s"}, False),
    "to fail in an hour, by a clock that is wrong": (1, "-1h", {}, True),
}


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize(("failures", "failed", "arguments", "is_protected"), BACKOFFS.values(), ids=BACKOFFS)
def test_what_came_to_nothing_is_not_repeated_for_a_while(
    action: str, failures: int, failed: str, arguments: dict[str, str], is_protected: bool
) -> None:
    cluster = remembering(in_the_way(action), "old", "new", evicted="1d", failed=failed, failures=failures)
    found = taken(cluster, decide(cluster, profile(action, **arguments)))
    assert {how for how, _ in found} == (set() if is_protected else {action})


def test_without_a_time_a_failure_counts_from_the_eviction() -> None:
    cluster = remembering(in_the_way("preempt"), "old", "new", evicted="59s", failures=1)
    assert said(cluster).until == cluster.now + ago("1s")


OPEN = {
    "refused: the victim runs as before": ("1s", {}, True),
    "evicted in this very cycle": ("0s", {}, False),
    "to be evicted in an hour, by a clock that is wrong": ("-1h", {}, False),
    "its pods terminate": ("1s", {"terminating": True}, False),
    "an earlier failure counts on": ("1s", {"failures": 2}, True),
}


@pytest.mark.parametrize(("evicted", "state", "is_protected"), OPEN.values(), ids=OPEN)
def test_who_asks_again_has_gained_nothing_once_nobody_terminates(
    evicted: str, state: dict[str, Any], is_protected: bool
) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("a")
    builder.pod_group("old", queue="a", min_member=1).running("old", gpus=1, node="n", count=3)
    if state.pop("terminating", False):
        builder.pods("old", TaskStatus.RELEASING, node="n", gpus=1)
    builder.pending("new", queue="a", gpus=4, priority=75)
    cluster = remembering(builder.build(), "old", "new", evicted=evicted, unsettled=True, **state)
    verdict = said(cluster)
    assert verdict.scope is (Scope.ALL if is_protected else Scope.NOTHING)
    if is_protected:
        assert verdict.until == cluster.now + parse_duration("1m") * 2 ** state.get("failures", 0)


def test_other_pairs_are_of_no_account() -> None:
    cluster = in_the_way("preempt")
    for victim, preemptor in (("old", "old"), ("new", "new")):
        cluster = remembering(cluster, victim, preemptor, evicted="0s", failures=3)
    assert taken(cluster, decide(cluster, profile("preempt"))) != []


def test_not_even_surplus_is_taken() -> None:
    cluster = remembering(in_the_way("preempt", min_member=1), "new", "old", evicted="0s")
    assert taken(cluster, decide(cluster, profile("preempt"))) == []


@pytest.mark.parametrize("action", EVICTING_ACTIONS)
@pytest.mark.parametrize("guarded", EVICTING_ACTIONS)
def test_it_has_a_say_in_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = remembering(in_the_way(action), "new", "old", evicted="0s")
    found = taken(cluster, decide(cluster, profile(action, actions=guarded)))
    assert bool(found) is (action != guarded)
    assert (said(cluster, action, actions=guarded) is None) is (action != guarded)


def test_another_that_asks_for_the_same_is_not_kept_off() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("a")
    builder.running("old", queue="a", gpus=1, count=2, node="n")
    for name in ("new", "other"):
        builder.pending(name, queue="a", gpus=2, priority=75)
    cluster = remembering(builder.build(), "old", "new", evicted="9m", failed="1s", failures=1)
    (group,) = (each for each in decide(cluster, profile("preempt")).groups if each.evictions)
    assert cluster.pod_groups[group.beneficiary].name == "other"


def test_what_happens_in_a_cycle_counts_in_that_cycle() -> None:
    """`old` loses a pod to `new`; in the same cycle it may not take one of `new`."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a", quota=0).queue("b", quota=2)
    builder.pod_group("new", queue="a", min_member=1).running("new", gpus=1, node="n").pending("new", gpus=1)
    builder.pod_group("old", queue="b", min_member=1).running("old", gpus=1, node="n").pending("old", gpus=1)
    cluster = builder.build()
    session = open_session(cluster)
    new, old = index_of(cluster, "new"), index_of(cluster, "old")

    def verdict() -> Scope:
        verdicts = session.guards.verdicts("consolidation", new, old)
        return next(each.scope for each in verdicts if each.guard == GUARD)

    assert verdict() is Scope.NOTHING
    with session.statement() as statement:
        statement.evict(next(t.index for t in cluster.tasks if t.uid == "new-0"))
        session.commit(statement, "reclaim", old, ReasonCode.RECLAIMED)
    note_evictions(session)
    assert verdict() is Scope.ALL


@pytest.mark.parametrize("name", ["cooldown", "backoff", "maxBackoff"])
@pytest.mark.parametrize("text", ["0s", "0", "90s", "1h30m", "1d"])
def test_durations_that_are_taken(name: str, text: str) -> None:
    assert check_profile(profile(**{name: text})) == []


@pytest.mark.parametrize("name", ["cooldown", "backoff", "maxBackoff"])
@pytest.mark.parametrize("text", ["", "5", "-5m", "ten", "1y"])
def test_durations_that_are_refused(name: str, text: str) -> None:
    ((path, problem),) = check_profile(profile(**{name: text}))
    assert path.endswith(f".arguments.{name}")
    assert problem == f"{text!r} is not a duration: write it like 30s, 1h30m or 2d"


def test_it_is_in_the_default_profile() -> None:
    assert GUARD in DEFAULT_PLUGINS
