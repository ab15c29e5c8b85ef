"""What a response says, in words that a table can hold."""

from typing import Any

from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse


def evicted(answer: DecideResponse) -> list[str]:
    """Uids of the evicted pods, in order."""
    return sorted(each.evict.pod for each in decisions(answer) if each.HasField("evict"))


def bound(answer: DecideResponse) -> list[str]:
    """Uids of the bound pods, in order."""
    return sorted(each.bind.pod for each in decisions(answer) if each.HasField("bind"))


def reserved(answer: DecideResponse) -> list[str]:
    """Uids of the pods with a reservation, in order."""
    return sorted(each.reserve.pod for each in decisions(answer) if each.HasField("reserve"))


def evicting_actions(answer: DecideResponse) -> list[str]:
    """Actions that evict, one for each group."""
    return [group.action for group in answer.groups if any(d.HasField("evict") for d in group.decisions)]


def decisions(answer: DecideResponse) -> list[pb.Decision]:
    """All decisions, in order."""
    return [decision for group in answer.groups for decision in group.decisions]


def patches(answer: DecideResponse, field: str) -> dict[str, Any]:
    """Values of one kind of patch, by pod group."""
    found = [each.patch for each in decisions(answer) if each.WhichOneof("kind") == "patch"]
    return {each.pod_group: getattr(each, field) for each in found if each.WhichOneof("change") == field}


def verdict(answer: DecideResponse, guard: str) -> pb.GuardVerdict:
    """Verdict of a guard on the first eviction."""
    first = next(each.evict for each in decisions(answer) if each.HasField("evict"))
    return next(each for each in first.guards if each.guard == guard)


def outcome(answer: DecideResponse, pod_group: str) -> str:
    """Kind of the outcome of a pod group."""
    (found,) = [each for each in answer.outcomes if each.pod_group == pod_group]
    return pb.OutcomeKind.Name(found.kind).removeprefix("OUTCOME_KIND_")


def nomination(answer: DecideResponse, pod_group: str) -> pb.Nomination | None:
    """Nomination of a pod group; None: it takes no part."""
    return next((each for each in answer.nominations if each.pod_group == pod_group), None)


def result(answer: DecideResponse, pod_group: str = "old") -> str:
    """Result of the nomination of a pod group, or why it was skipped; empty: it takes no part."""
    found = nomination(answer, pod_group)
    if found is None:
        return ""
    if found.result == pb.NOMINATION_RESULT_SKIPPED:
        return pb.NominationSkipReason.Name(found.skip_reason).removeprefix("NOMINATION_SKIP_REASON_").lower()
    return pb.NominationResult.Name(found.result).removeprefix("NOMINATION_RESULT_")


def protections(answer: DecideResponse, guard: str, pod_group: str = "old") -> list[str]:
    """Parts of a pod group that a guard protects."""
    return [
        pb.ProtectionScope.Name(each.scope).removeprefix("PROTECTION_SCOPE_")
        for each in answer.protections
        if (each.guard, each.pod_group) == (guard, pod_group)
    ]
