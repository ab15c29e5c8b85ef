"""What the guard says of a pair, who it is said of in the answer, and when it wakes a caller."""

from typing import Any

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import Protection
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import Preemptibility
from tenure.solver.testing import NOW, ClusterBuilder

from tests.unit.plugins.four_actions import in_the_way
from tests.unit.plugins.two_memories import GUARD, ago, profile, remembering, said

COOLING = {"evicted": "2m"}
FAILED = {"evicted": "3m", "failed": "30s", "failures": 2}
SAID = {
    "nothing remembered": ([], {}, Scope.NOTHING, "default of evictionmemory", None, ""),
    "a cooldown": (
        [("new", "old", COOLING)],
        {},
        Scope.ALL,
        "default of evictionmemory",
        "3m",
        "new was evicted for old, and does not evict it in turn for another 3m",
    ),
    "a cooldown that is over": (
        [("new", "old", COOLING)],
        {"cooldown": "1m"},
        Scope.NOTHING,
        "argument cooldown",
        "-1m",
        "",
    ),
    "one failure": (
        [("old", "new", {**FAILED, "failures": 1})],
        {},
        Scope.ALL,
        "default of evictionmemory",
        "30s",
        "evicting old for new came to nothing, and is not repeated for another 30s",
    ),
    "several": (
        [("old", "new", FAILED)],
        {"backoff": "2m"},
        Scope.ALL,
        "argument backoff",
        "3m30s",
        "evicting old for new came to nothing 2 times in a row, and is not repeated for another 3m30s",
    ),
    "both, and the cooldown takes longer": (
        [("old", "new", FAILED), ("new", "old", COOLING)],
        {"cooldown": "5m"},
        Scope.ALL,
        "argument cooldown",
        "3m",
        "new was evicted for old, and does not evict it in turn for another 3m",
    ),
    "both, and the backoff takes longer": (
        [("old", "new", FAILED), ("new", "old", COOLING)],
        {"backoff": "5m"},
        Scope.ALL,
        "argument backoff",
        "9m30s",
        "evicting old for new came to nothing 2 times in a row, and is not repeated for another 9m30s",
    ),
}


@pytest.mark.parametrize(
    ("memories", "arguments", "scope", "source", "ends_in", "detail"), SAID.values(), ids=SAID
)
def test_it_says_why_by_whose_word_and_until_when(
    memories: list[tuple[str, str, dict[str, Any]]],
    arguments: dict[str, str],
    scope: Scope,
    source: str,
    ends_in: str | None,
    detail: str,
) -> None:
    cluster = in_the_way("preempt")
    for victim, preemptor, fields in memories:
        cluster = remembering(cluster, victim, preemptor, **fields)
    until = None if ends_in is None else cluster.now + ago(ends_in)
    code = ReasonCode.NON_PREEMPTIBLE
    if detail:
        code = ReasonCode.EVICTION_BACKOFF if "nothing" in detail else ReasonCode.EVICTION_COOLDOWN
    assert said(cluster, **arguments) == GuardVerdict(GUARD, scope, source, until, code, detail)


def protections(**options: Any) -> list[Protection]:
    """What the answer says about `old`, which three others are kept off or not."""
    builder = ClusterBuilder().node("n", gpus=2).queue("a")
    builder.running("old", queue="a", gpus=1, count=2, node="n", **options)
    for name in ("cooling", "failing", "free"):
        builder.pending(name, queue="a", gpus=4)
    cluster = builder.build()
    cluster = remembering(cluster, "cooling", "old", evicted="1m")
    cluster = remembering(cluster, "old", "failing", evicted="9m", failed="1m", failures=2)
    cluster = remembering(cluster, "old", "free", evicted="6m")
    found = decide(cluster, profile("preempt")).protections
    return [each for each in found if each.guard == GUARD]


def test_the_answer_names_every_pod_group_that_is_kept_off() -> None:
    found = protections()
    ends = {each.against_pod_group: each.until for each in found}
    cooling, failing = 0, 1
    assert ends == {cooling: NOW + ago("4m"), failing: NOW + ago("1m")}
    for each in found:
        assert each.actions == EVICTING_ACTIONS
        assert (each.source, each.scope) == ("default of evictionmemory", Scope.ALL)


def test_who_is_never_evicted_anyway_needs_no_memory() -> None:
    assert protections(preemptibility=Preemptibility.NON_PREEMPTIBLE) == []


WAKES = {
    "the end of a cooldown": (("new", "old", {"evicted": "2m"}), "3m", ReasonCode.EVICTION_COOLDOWN),
    "the end of a backoff": (
        ("old", "new", {"evicted": "9m", "failed": "30s", "failures": 2}),
        "1m30s",
        ReasonCode.EVICTION_BACKOFF,
    ),
    "the end of a backoff that begins now": (
        ("old", "new", {"evicted": "1s", "unsettled": True}),
        "1m",
        ReasonCode.EVICTION_BACKOFF,
    ),
}


@pytest.mark.parametrize(("memory", "wait", "code"), WAKES.values(), ids=WAKES)
def test_a_caller_is_woken_when_another_decision_may_follow(
    memory: tuple[str, str, dict[str, str]], wait: str, code: ReasonCode
) -> None:
    victim, preemptor, fields = memory
    cluster = remembering(in_the_way("preempt"), victim, preemptor, **fields)
    decision = decide(cluster, profile("preempt"))
    (outcome,) = decision.outcomes
    assert decision.next_wake == outcome.reason.until == cluster.now + ago(wait)
    assert outcome.reason.code is code
    assert outcome.reason.source == GUARD
