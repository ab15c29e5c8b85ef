"""The eviction backoff guard prevents retaliatory evictions and delays repeated ineffective ones."""

from typing import Any

import pytest
from tenure.solver.actions.commit_patches import patch_evictions
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import contested_cluster, evictions_of
from tests.solver.plugins.guards.eviction_pair import (
    GUARD,
    guard_verdict,
    index_of,
    profile,
    relative_time,
    with_eviction_record,
)
from tests.solver.sessions import open_session

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


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize(("evicted", "arguments", "is_protected"), COOLDOWNS.values(), ids=COOLDOWNS)
def test_evicted_pod_group_cannot_evict_its_preemptor_within_the_cooldown(
    action: str, evicted: str, arguments: dict[str, str], is_protected: bool
) -> None:
    cluster = with_eviction_record(contested_cluster(action), "new", "old", evicted=evicted)
    found = evictions_of(cluster, answer(cluster, profile(action, **arguments)))
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


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize(("failures", "failed", "arguments", "is_protected"), BACKOFFS.values(), ids=BACKOFFS)
def test_ineffective_eviction_is_not_repeated_within_the_backoff(
    action: str, failures: int, failed: str, arguments: dict[str, str], is_protected: bool
) -> None:
    cluster = with_eviction_record(
        contested_cluster(action), "old", "new", evicted="1d", failed=failed, consecutive_failures=failures
    )
    found = evictions_of(cluster, answer(cluster, profile(action, **arguments)))
    assert {how for how, _ in found} == (set() if is_protected else {action})


def test_failure_without_time_counts_from_the_eviction() -> None:
    cluster = with_eviction_record(
        contested_cluster("preempt"), "old", "new", evicted="59s", consecutive_failures=1
    )
    assert guard_verdict(cluster).until == cluster.now + relative_time("1s")


OPEN = {
    "refused: the victim runs as before": ("1s", {}, True),
    "evicted in this very cycle": ("0s", {}, False),
    "to be evicted in an hour, by a clock that is wrong": ("-1h", {}, False),
    "its pods terminate": ("1s", {"terminating": True}, False),
    "an earlier failure counts on": ("1s", {"consecutive_failures": 2}, True),
}


@pytest.mark.parametrize(("evicted", "state", "is_protected"), OPEN.values(), ids=OPEN)
def test_repeated_preemptor_counts_as_ineffective_once_no_victim_is_terminating(
    evicted: str, state: dict[str, Any], is_protected: bool
) -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("a")
    builder.pod_group("old", queue="a", min_member=1).running("old", gpus=1, node="n", count=3)
    if state.pop("terminating", False):
        builder.pods("old", TaskStatus.RELEASING, node="n", gpus=1)
    builder.pending("new", queue="a", gpus=4, priority=75)
    cluster = with_eviction_record(
        builder.build(), "old", "new", evicted=evicted, result_pending=True, **state
    )
    verdict = guard_verdict(cluster)
    assert verdict.scope is (ProtectionScope.ALL if is_protected else ProtectionScope.NOTHING)
    if is_protected:
        assert verdict.until == cluster.now + parse_duration("1m") * 2 ** state.get("consecutive_failures", 0)


def test_other_pairs_are_ignored() -> None:
    cluster = contested_cluster("preempt")
    for victim, preemptor in (("old", "old"), ("new", "new")):
        cluster = with_eviction_record(cluster, victim, preemptor, evicted="0s", consecutive_failures=3)
    assert evictions_of(cluster, answer(cluster, profile("preempt"))) != []


def test_surplus_is_protected_as_well() -> None:
    cluster = with_eviction_record(contested_cluster("preempt", min_member=1), "new", "old", evicted="0s")
    assert evictions_of(cluster, answer(cluster, profile("preempt"))) == []


@pytest.mark.parametrize("action", BUILT_IN.guarded.names)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = with_eviction_record(contested_cluster(action), "new", "old", evicted="0s")
    found = evictions_of(cluster, answer(cluster, profile(action, actions=guarded)))
    assert bool(found) is (action != guarded)
    assert (guard_verdict(cluster, action, actions=guarded) is None) is (action != guarded)


def test_another_preemptor_with_equal_requests_is_not_rejected() -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("a")
    builder.running("old", queue="a", gpus=1, count=2, node="n")
    for name in ("new", "other"):
        builder.pending(name, queue="a", gpus=2, priority=75)
    cluster = with_eviction_record(
        builder.build(), "old", "new", evicted="9m", failed="1s", consecutive_failures=1
    )
    (group,) = (each for each in answer(cluster, profile("preempt")).groups if each.evictions)
    assert cluster.pod_groups[group.beneficiary].facts.name == "other"


def test_evictions_of_the_same_cycle_count() -> None:
    """`old` loses a pod to `new` and cannot evict a pod of `new` in the same cycle."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a", quota=0).queue("b", quota=2)
    builder.pod_group("new", queue="a", min_member=1).running("new", gpus=1, node="n").pending("new", gpus=1)
    builder.pod_group("old", queue="b", min_member=1).running("old", gpus=1, node="n").pending("old", gpus=1)
    cluster = builder.build()
    session = open_session(cluster)
    new, old = index_of(cluster, "new"), index_of(cluster, "old")

    def verdict() -> ProtectionScope:
        verdicts = session.guards.verdicts(BUILT_IN.actions["consolidation"], new, old)
        return next(each.scope for each in verdicts if each.guard == GUARD)

    assert verdict() is ProtectionScope.NOTHING
    with session.statement() as statement:
        statement.evict(next(t.index for t in cluster.tasks if t.facts.uid == "new-0"))
        session.commit(statement, BUILT_IN.actions["reclaim"], old, ReasonCode.RECLAIMED)
    patch_evictions(session)
    assert verdict() is ProtectionScope.ALL


@pytest.mark.parametrize("name", ["cooldown", "backoff", "maxBackoff"])
@pytest.mark.parametrize("text", ["0s", "0", "90s", "1h30m", "1d"])
def test_valid_durations_are_accepted(name: str, text: str) -> None:
    assert check_profile(profile(**{name: text})) == []


@pytest.mark.parametrize("name", ["cooldown", "backoff", "maxBackoff"])
@pytest.mark.parametrize("text", ["", "5", "-5m", "ten", "1y"])
def test_invalid_durations_are_rejected(name: str, text: str) -> None:
    ((path, problem),) = check_profile(profile(**{name: text}))
    assert path.endswith(f".arguments.{name}")
    assert problem.startswith(f"{text!r} is not a duration")
    assert problem.endswith(": write it like 30s, 1h30m or 2d")


def test_guard_is_in_the_default_profile() -> None:
    assert GUARD in DEFAULT_PLUGINS
