"""Encoding of guards: verdicts with each eviction, protections with their end for running pod groups."""

import pytest
from tenure.solver.model.decision import Evict
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.v1 import decision_pb2 as pb

from tests.codec.encoded_decisions import NOW, NOW_S, RUNS, decision, encode, encode_decisions, reclaim_group

SCOPES = {
    ProtectionScope.NOTHING: pb.PROTECTION_SCOPE_UNSPECIFIED,
    ProtectionScope.CORE: pb.PROTECTION_SCOPE_CORE,
    ProtectionScope.ALL: pb.PROTECTION_SCOPE_ALL,
}


def checks(*verdicts: GuardVerdict) -> list[pb.GuardVerdict]:
    (evict,) = encode_decisions(
        reclaim_group(evictions=(Evict(0, 0, False, verdicts),), reservations=(), bindings=(), patches=())
    )
    return list(evict.evict.guards)


def test_eviction_names_the_guards_that_allowed_it_in_profile_order() -> None:
    passed = GuardVerdict(ProtectionScope.NOTHING, "its priority 50", guard="preemptibility")
    ended = GuardVerdict(ProtectionScope.NOTHING, "queue left", NOW - 1, guard="minruntime")
    first, second = checks(passed, ended)
    assert first == pb.GuardVerdict(guard="preemptibility", source="its priority 50")
    assert not first.HasField("until")
    assert (second.guard, second.source, second.until.ToNanoseconds()) == (
        "minruntime",
        "queue left",
        NOW - 1,
    )


@pytest.mark.parametrize("scope", ProtectionScope)
def test_scope_of_a_guard_verdict_is_encoded(scope: ProtectionScope) -> None:
    (check,) = checks(GuardVerdict(scope, "s", guard="g"))
    assert check.scope == SCOPES[scope]


def test_an_eviction_without_guards_names_none() -> None:
    assert checks() == []


def protected(protection: Protection) -> pb.Protection:
    (message,) = encode(decision(protections=(protection,))).protections
    return message


def test_protection_contains_pod_group_scope_preemptor_end_and_source() -> None:
    message = protected(Protection(RUNS, "minruntime", ("preempt", "requeue"), NOW, "queue top", "right"))
    assert message == pb.Protection(
        pod_group="runs",
        guard="minruntime",
        actions=["preempt", "requeue"],
        until={"seconds": NOW_S},
        source="queue top",
        against="right",
        scope=pb.PROTECTION_SCOPE_ALL,
    )


@pytest.mark.parametrize("scope", ProtectionScope)
def test_scope_of_a_protection_is_encoded(scope: ProtectionScope) -> None:
    assert protected(Protection(RUNS, "g", ("reclaim",), NOW, "s", scope=scope)).scope == SCOPES[scope]


def test_protection_while_running_has_no_end() -> None:
    assert not protected(Protection(RUNS, "g", ("reclaim",), None, "s")).HasField("until")
