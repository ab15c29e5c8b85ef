"""The condition of each outcome."""

import pytest
from tenure.kubernetes.apply.conditions import build_condition
from tenure.v1 import decision_pb2 as pb

from tests.kubernetes.apply.status_rig import outcome

CONDITIONS = {
    ("BOUND", "ALLOCATED"): "",
    ("WAITING_FOR_RELEASE", "PIPELINED"): "WaitingForRelease",
    ("WAITING_FOR_VICTIMS", "VICTIMS_EVICTED"): "WaitingForVictims",
    ("WAITING_FOR_QUOTA", "OVER_LIMIT"): "WaitingForQuota",
    ("DELAYED", "MIN_RUNTIME"): "Delayed",
    ("INFEASIBLE", "NO_NODE_MATCHES"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "QUEUE_ORDER"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "NO_CAPACITY"): "Unschedulable",
    ("WAITING_FOR_CAPACITY", "OPTED_OUT"): "Unschedulable",
    ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED"): "SearchIncomplete",
    ("INVALID_POD_GROUP", "NOT_READY"): "InvalidPodGroup",
    ("HELD", "HELD"): "Held",
}


def test_conditions_cover_every_outcome_kind() -> None:
    kinds = {kind.removeprefix("OUTCOME_KIND_") for kind, number in pb.OutcomeKind.items() if number}
    assert {kind for kind, _ in CONDITIONS} == kinds


@pytest.mark.parametrize(("kind", "code"), CONDITIONS)
def test_condition_reason_follows_the_catalog(kind: str, code: str) -> None:
    verdict = build_condition(outcome(kind, code))
    assert verdict is not None
    assert verdict.reason == CONDITIONS[kind, code]


@pytest.mark.parametrize(("kind", "reason"), [("INFEASIBLE", "Unschedulable"), ("DELAYED", "Delayed")])
def test_condition_of_an_unknown_code_follows_the_outcome_kind(kind: str, reason: str) -> None:
    unknown = pb.PodGroupOutcome(kind=f"OUTCOME_KIND_{kind}", reason=pb.Reason(code=9_999))
    verdict = build_condition(unknown)
    assert verdict is not None
    assert (verdict.reason, verdict.code) == (reason, "Unspecified")


def test_condition_of_a_held_pod_group_has_the_way_out() -> None:
    verdict = build_condition(outcome("HELD", "HELD"))
    assert verdict is not None
    assert "set tenure.scheduler/released to the current time" in verdict.message


def test_pod_group_over_fair_share_is_unschedulable_for_the_autoscaler() -> None:
    verdict = build_condition(outcome("WAITING_FOR_QUOTA", "OVER_FAIR_SHARE"))
    assert verdict is not None
    assert (verdict.reason, verdict.code) == ("Unschedulable", "OverFairShare")


def custom_outcome(
    code: str = "QueueKept", domain: str = "keepqueues", detail: str = ""
) -> pb.PodGroupOutcome:
    """A delayed pod group with a reason of another package."""
    custom = pb.CustomReason(
        domain=domain, code=code, clause="its queue is kept", public_message="It is kept."
    )
    reason = pb.Reason(code="REASON_CODE_PROTECTED", source=domain, custom=custom, detail=detail)
    reason.message = f"Pod group new is delayed{': ' if detail else ''}{detail}."
    return pb.PodGroupOutcome(kind="OUTCOME_KIND_DELAYED", reason=reason)


@pytest.mark.parametrize(
    ("code", "domain", "expected"),
    [
        ("QueueKept", "keepqueues", "KeepqueuesQueueKept"),
        ("QueueKept", "keep-queues", "KeepQueuesQueueKept"),
        ("not a code: <b>", "keepqueues", "Protected"),
        ("QueueKept", "", "Protected"),
        ("Q" * 2_000, "keepqueues", "Protected"),
    ],
)
def test_code_of_another_package_begins_with_its_domain_or_is_the_general_one(
    code: str, domain: str, expected: str
) -> None:
    condition = build_condition(custom_outcome(code, domain))
    assert condition is not None
    assert (condition.reason, condition.code) == ("Delayed", expected)


def test_condition_has_the_clause_of_another_package_in_place_of_its_detail() -> None:
    condition = build_condition(custom_outcome(detail="pod group secret is kept"))
    assert condition is not None
    assert condition.message == "Pod group new is delayed: its queue is kept."
