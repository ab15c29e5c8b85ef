"""Two answers to one question, decision by decision: what is missing, new or not the same."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from tenure.server.labels import label
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse

OUTCOME: Final = "outcome"
"""In place of a kind of steps: what became of a pod group."""
ANSWER: Final = "answer"
"""In place of a kind of steps: a field of the answer that is no decision."""


class Kind(StrEnum):
    """How two answers differ."""

    ADDED = "added"
    MISSING = "missing"
    NODE = "other node"
    REASON = "other reason"
    CONTENT = "other content"


class Difference(NamedTuple):
    """One of them: before and after are as they are in the first and in the second answer."""

    kind: Kind
    step: str
    """The kind of step: "bind", "evict", ..."""
    subject: str
    """Uid of the pod, or of the pod group; the name of a field of the answer."""
    before: str = ""
    after: str = ""


Step = tuple[str, str, str]
"""Kind, subject, and what else tells it from others: for patches the field and the preemptor."""


def differences(before: DecideResponse, after: DecideResponse) -> list[Difference]:
    """Decisions by kind and subject, then outcomes by pod group. Ids count for nothing.

    The order of decisions, and everything else that answers tell, is not looked at: see `other_fields`.
    """
    decisions = _compared(_decisions(before), _decisions(after))
    return [*decisions, *_compared_outcomes(_outcomes(before), _outcomes(after))]


def lost(before: DecideResponse, after: DecideResponse) -> list[Difference]:
    """Of an answer that was stopped early, what the whole one does not say.

    A cycle that is stopped decides what the whole one decides first, so its evictions, holds and bindings
    are in the whole one too. Patches and outcomes tell how it ended, and are not looked at.
    """
    first = {key: value for key, value in _decisions(before).items() if key[0] != "patch"}
    return [each for each in _compared(first, _decisions(after)) if each.kind is not Kind.ADDED]


def other_fields(before: DecideResponse, after: DecideResponse) -> Iterator[Difference]:
    """Fields of the answers that are not the same: protections, queues, counters, ids of groups, ..."""
    first, second = _fields(before), _fields(after)
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield Difference(Kind.CONTENT, ANSWER, name)


def _fields(answer: DecideResponse) -> dict[str, object]:
    return {field.name: value for field, value in answer.ListFields()}


def _decisions(answer: DecideResponse) -> dict[Step, pb.Decision]:
    steps = (decision for group in answer.groups for decision in group.decisions)
    return {_key(decision): decision for decision in steps}


def _key(decision: pb.Decision) -> Step:
    kind = decision.WhichOneof("step") or ""
    step = getattr(decision, kind) if kind else decision
    match step:
        case pb.Patch():
            field = step.WhichOneof("change") or ""
            other = step.remember.preemptor if field == "remember" else step.forget_preemptor
            return kind, step.pod_group, f"{field} {other}"
        case pb.Requeue():
            return kind, step.pod_group, ""
    return kind, getattr(step, "pod", ""), ""


def _compared(before: Mapping[Step, pb.Decision], after: Mapping[Step, pb.Decision]) -> list[Difference]:
    found = []
    for key in dict.fromkeys([*before, *after]):
        kind, subject, _ = key
        if key not in after:
            found.append(Difference(Kind.MISSING, kind, subject, _told(before[key])))
        elif key not in before:
            found.append(Difference(Kind.ADDED, kind, subject, after=_told(after[key])))
        elif (difference := _difference(kind, subject, before[key], after[key])) is not None:
            found.append(difference)
    return found


def _difference(kind: str, subject: str, before: pb.Decision, after: pb.Decision) -> Difference | None:
    first, second = getattr(before, kind), getattr(after, kind)
    if getattr(first, "node", "") != getattr(second, "node", ""):
        return Difference(Kind.NODE, kind, subject, first.node, second.node)
    if before.reason.code != after.reason.code:
        return Difference(Kind.REASON, kind, subject, _reason(before), _reason(after))
    if first != second:
        return Difference(Kind.CONTENT, kind, subject, _told(before), _told(after))
    return None


def _told(decision: pb.Decision) -> str:
    """A decision in a few words."""
    kind = decision.WhichOneof("step") or ""
    step = getattr(decision, kind)
    if isinstance(step, pb.Patch):
        return step.WhichOneof("change") or ""
    return f"{getattr(step, 'node', '')} ({_reason(decision)})".strip()


def _reason(decision: pb.Decision) -> str:
    return label(pb.ReasonCode, decision.reason.code)


def _outcomes(answer: DecideResponse) -> dict[str, str]:
    return {each.pod_group: label(pb.OutcomeKind, each.kind) for each in answer.outcomes}


def _compared_outcomes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for pod_group in dict.fromkeys([*before, *after]):
        first, second = before.get(pod_group, ""), after.get(pod_group, "")
        if first != second:
            yield Difference(Kind.CONTENT, OUTCOME, pod_group, first, second)
