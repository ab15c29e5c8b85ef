"""What guards say: of the evicted with every eviction, of the others so that the caller knows until when."""

import pytest
from tenure.solver.model.decision import Evict, Protection
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.v1 import decision_pb2 as pb

from tests.server.encoding import NOW, NOW_S, RUNS, decision, encoded, reclaim, steps

SCOPES = {
    Scope.NOTHING: pb.PROTECTION_SCOPE_UNSPECIFIED,
    Scope.CORE: pb.PROTECTION_SCOPE_CORE,
    Scope.ALL: pb.PROTECTION_SCOPE_ALL,
}


def checks(*verdicts: GuardVerdict) -> list[pb.GuardCheck]:
    (evict,) = steps(reclaim(evictions=(Evict(0, 0, False, verdicts),), holds=(), bindings=(), patches=()))
    return list(evict.evict.guards)


def test_an_eviction_names_the_guards_that_let_it_pass_in_their_order() -> None:
    passed = GuardVerdict("preemptibility", Scope.NOTHING, "its priority 50")
    ended = GuardVerdict("minruntime", Scope.NOTHING, "queue left", NOW - 1)
    first, second = checks(passed, ended)
    assert first == pb.GuardCheck(guard="preemptibility", source="its priority 50")
    assert not first.HasField("until")
    assert (second.guard, second.source, second.until.ToNanoseconds()) == (
        "minruntime",
        "queue left",
        NOW - 1,
    )


@pytest.mark.parametrize("scope", Scope)
def test_the_scope_of_a_check_is_told(scope: Scope) -> None:
    (check,) = checks(GuardVerdict("g", scope, "s"))
    assert check.scope == SCOPES[scope]


def test_an_eviction_without_guards_names_none() -> None:
    assert checks() == []


def protected(protection: Protection) -> pb.Protection:
    (message,) = encoded(decision(protections=(protection,))).protections
    return message


def test_a_protection_says_who_what_from_whom_until_when_and_by_whose_word() -> None:
    said = protected(Protection(RUNS, "minruntime", ("preempt", "requeue"), NOW, "queue top", "right"))
    assert said == pb.Protection(
        pod_group="runs",
        guard="minruntime",
        actions=["preempt", "requeue"],
        until={"seconds": NOW_S},
        source="queue top",
        against="right",
        scope=pb.PROTECTION_SCOPE_ALL,
    )


@pytest.mark.parametrize("scope", Scope)
def test_the_scope_of_a_protection_is_told(scope: Scope) -> None:
    assert protected(Protection(RUNS, "g", ("reclaim",), NOW, "s", scope=scope)).scope == SCOPES[scope]


def test_a_protection_for_as_long_as_it_runs_has_no_end() -> None:
    assert not protected(Protection(RUNS, "g", ("reclaim",), None, "s")).HasField("until")
