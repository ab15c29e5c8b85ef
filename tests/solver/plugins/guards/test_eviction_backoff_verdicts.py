"""Verdicts of the eviction backoff guard, their report in the response, and the next wake time."""

from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import contested_cluster
from tests.solver.plugins.guards.eviction_pair import (
    GUARD,
    guard_verdict,
    profile,
    relative_time,
    with_eviction_record,
)

COOLING = {"evicted": "2m"}
FAILED = {"evicted": "3m", "failed": "30s", "consecutive_failures": 2}
VERDICTS = {
    "nothing remembered": ([], {}, ProtectionScope.NOTHING, "default of evictionbackoff", None, ""),
    "a cooldown": (
        [("new", "old", COOLING)],
        {},
        ProtectionScope.ALL,
        "default of evictionbackoff",
        "3m",
        "new was recently evicted for old and cannot evict it yet",
    ),
    "a cooldown that is over": (
        [("new", "old", COOLING)],
        {"cooldown": "1m"},
        ProtectionScope.NOTHING,
        "argument cooldown",
        "-1m",
        "",
    ),
    "one failure": (
        [("old", "new", {**FAILED, "consecutive_failures": 1})],
        {},
        ProtectionScope.ALL,
        "default of evictionbackoff",
        "30s",
        "evicting old for new was ineffective and is not retried yet",
    ),
    "several": (
        [("old", "new", FAILED)],
        {"backoff": "2m"},
        ProtectionScope.ALL,
        "argument backoff",
        "3m30s",
        "evicting old for new was ineffective 2 times in a row and is not retried yet",
    ),
    "both, and the cooldown takes longer": (
        [("old", "new", FAILED), ("new", "old", COOLING)],
        {"cooldown": "5m"},
        ProtectionScope.ALL,
        "argument cooldown",
        "3m",
        "new was recently evicted for old and cannot evict it yet",
    ),
    "both, and the backoff takes longer": (
        [("old", "new", FAILED), ("new", "old", COOLING)],
        {"backoff": "5m"},
        ProtectionScope.ALL,
        "argument backoff",
        "9m30s",
        "evicting old for new was ineffective 2 times in a row and is not retried yet",
    ),
}


@pytest.mark.parametrize(
    ("memories", "arguments", "scope", "source", "ends_in", "detail"), VERDICTS.values(), ids=VERDICTS
)
def test_verdict_has_reason_source_and_end(
    memories: list[tuple[str, str, dict[str, Any]]],
    arguments: dict[str, str],
    scope: ProtectionScope,
    source: str,
    ends_in: str | None,
    detail: str,
) -> None:
    cluster = contested_cluster("preempt")
    for victim, preemptor, fields in memories:
        cluster = with_eviction_record(cluster, victim, preemptor, **fields)
    until = None if ends_in is None else cluster.now + relative_time(ends_in)
    code = ReasonCode.PROTECTED
    if detail:
        code = ReasonCode.EVICTION_BACKOFF if "ineffective" in detail else ReasonCode.EVICTION_COOLDOWN
    assert guard_verdict(cluster, **arguments) == GuardVerdict(scope, source, until, detail, code, GUARD)


def reported_protections(**options: Any) -> list[Protection]:
    """Reported protections of `old` from three other pod groups."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a")
    builder.running("old", queue="a", gpus=1, count=2, node="n", **options)
    for name in ("cooling", "failing", "free"):
        builder.pending(name, queue="a", gpus=4)
    cluster = builder.build()
    cluster = with_eviction_record(cluster, "cooling", "old", evicted="1m")
    cluster = with_eviction_record(
        cluster, "old", "failing", evicted="9m", failed="1m", consecutive_failures=2
    )
    cluster = with_eviction_record(cluster, "old", "free", evicted="6m")
    found = answer(cluster, profile("preempt")).protections
    return [each for each in found if each.guard == GUARD]


def test_protections_list_every_rejected_preemptor() -> None:
    found = reported_protections()
    ends = {each.against_pod_group: each.until for each in found}
    cooling, failing = 0, 1
    assert ends == {cooling: NOW + relative_time("4m"), failing: NOW + relative_time("1m")}
    for each in found:
        assert each.actions == BUILT_IN.guarded.names
        assert (each.source, each.scope) == ("default of evictionbackoff", ProtectionScope.ALL)


def test_non_preemptible_pod_group_has_no_reported_protection() -> None:
    assert reported_protections(preemptibility=Preemptibility.NON_PREEMPTIBLE) == []


WAKES = {
    "the end of a cooldown": (("new", "old", {"evicted": "2m"}), "3m", ReasonCode.EVICTION_COOLDOWN),
    "the end of a backoff": (
        ("old", "new", {"evicted": "9m", "failed": "30s", "consecutive_failures": 2}),
        "1m30s",
        ReasonCode.EVICTION_BACKOFF,
    ),
    "the end of a backoff that begins now": (
        ("old", "new", {"evicted": "1s", "result_pending": True}),
        "1m",
        ReasonCode.EVICTION_BACKOFF,
    ),
}


@pytest.mark.parametrize(("memory", "wait", "code"), WAKES.values(), ids=WAKES)
def test_next_wake_time_is_the_end_of_the_protection(
    memory: tuple[str, str, dict[str, str]], wait: str, code: ReasonCode
) -> None:
    victim, preemptor, fields = memory
    cluster = with_eviction_record(contested_cluster("preempt"), victim, preemptor, **fields)
    decision = answer(cluster, profile("preempt"))
    (outcome,) = decision.outcomes
    assert decision.next_wake_time == outcome.reason.until == cluster.now + relative_time(wait)
    assert outcome.reason.code is code
    assert outcome.reason.source == GUARD
