"""Replay recorded cycles with the serving code, and compare the responses decision by decision."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.server.garbage_collection import pause_gc
from tenure.server.installed import installed_registry
from tenure.server.records.file import RecordsError
from tenure.server.records.reader import Record, RecordsFile
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import check_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.wire.enum_labels import enum_label

OUTCOME: Final = "outcome"
"""Difference in an outcome, in place of a decision kind."""
RESPONSE: Final = "answer"
"""Difference in another field of the response, in place of a decision kind."""


class DifferenceKind(StrEnum):
    """How two responses differ."""

    ADDED = "added"
    MISSING = "missing"
    NODE = "other node"
    REASON = "other reason"
    CONTENT = "other content"


class Difference(NamedTuple):
    """One difference, with the values in the first and the second response."""

    kind: DifferenceKind
    decision_kind: str
    """Kind of decision: "bind", "evict", ..."""
    subject: str
    """Uid of the pod or the pod group; name of a field of the response."""
    before: str = ""
    after: str = ""


DecisionKey = tuple[str, str, str]
"""Kind, subject, and discriminator: for patches the field and the preemptor."""


def compare_responses(before: DecideResponse, after: DecideResponse) -> list[Difference]:
    """Compare decisions by kind and subject, then outcomes by pod group. IDs are ignored.

    The order of decisions and all other fields are ignored: see `other_fields`.
    """
    decisions = _compared(_decisions(before), _decisions(after))
    return [*decisions, *_compared_outcomes(_outcomes(before), _outcomes(after))]


def missing_decisions(before: DecideResponse, after: DecideResponse) -> list[Difference]:
    """Decisions of a response that was stopped early and that the complete response lacks.

    A stopped cycle makes the first decisions of the complete one, so the complete response has its evictions,
    reservations and bindings too. Patches and outcomes depend on where the cycle ended, and are ignored.
    """
    first = {key: value for key, value in _decisions(before).items() if key[0] != "patch"}
    return [each for each in _compared(first, _decisions(after)) if each.kind is not DifferenceKind.ADDED]


def other_fields(before: DecideResponse, after: DecideResponse) -> Iterator[Difference]:
    """Names of the other fields that differ: protections, queues, counters, group IDs, ..."""
    first, second = _fields(before), _fields(after)
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield Difference(DifferenceKind.CONTENT, RESPONSE, name)


def _fields(response: DecideResponse) -> dict[str, object]:
    return {field.name: value for field, value in response.ListFields()}


def _decisions(response: DecideResponse) -> dict[DecisionKey, pb.Decision]:
    steps = (decision for group in response.groups for decision in group.decisions)
    return {_key(decision): decision for decision in steps}


def _key(decision: pb.Decision) -> DecisionKey:
    kind = decision.WhichOneof("kind") or ""
    step = getattr(decision, kind) if kind else decision
    match step:
        case pb.Patch():
            field = step.WhichOneof("change") or ""
            other = (
                step.set_eviction_record.preemptor
                if field == "set_eviction_record"
                else step.delete_eviction_record
            )
            return kind, step.pod_group, f"{field} {other}"
        case pb.Requeue():
            return kind, step.pod_group, ""
    return kind, getattr(step, "pod", ""), ""


def _compared(
    before: Mapping[DecisionKey, pb.Decision], after: Mapping[DecisionKey, pb.Decision]
) -> list[Difference]:
    found = []
    for key in dict.fromkeys([*before, *after]):
        kind, subject, _ = key
        if key not in after:
            found.append(Difference(DifferenceKind.MISSING, kind, subject, _describe(before[key])))
        elif key not in before:
            found.append(Difference(DifferenceKind.ADDED, kind, subject, after=_describe(after[key])))
        elif (difference := _difference(kind, subject, before[key], after[key])) is not None:
            found.append(difference)
    return found


def _difference(kind: str, subject: str, before: pb.Decision, after: pb.Decision) -> Difference | None:
    first, second = getattr(before, kind), getattr(after, kind)
    if getattr(first, "node", "") != getattr(second, "node", ""):
        return Difference(DifferenceKind.NODE, kind, subject, first.node, second.node)
    if before.reason.code != after.reason.code:
        return Difference(DifferenceKind.REASON, kind, subject, _reason(before), _reason(after))
    if first != second:
        return Difference(DifferenceKind.CONTENT, kind, subject, _describe(before), _describe(after))
    return None


def _describe(decision: pb.Decision) -> str:
    """Short description of a decision."""
    kind = decision.WhichOneof("kind") or ""
    step = getattr(decision, kind)
    if isinstance(step, pb.Patch):
        return step.WhichOneof("change") or ""
    return f"{getattr(step, 'node', '')} ({_reason(decision)})".strip()


def _reason(decision: pb.Decision) -> str:
    return enum_label(pb.ReasonCode, decision.reason.code)


def _outcomes(response: DecideResponse) -> dict[str, str]:
    return {each.pod_group: enum_label(pb.OutcomeKind, each.kind) for each in response.outcomes}


def _compared_outcomes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for pod_group in dict.fromkeys([*before, *after]):
        first, second = before.get(pod_group, ""), after.get(pod_group, "")
        if first != second:
            yield Difference(DifferenceKind.CONTENT, OUTCOME, pod_group, first, second)


class ReplayResult(NamedTuple):
    """Identity of a record and its differences. Responses are not retained: they are large."""

    id: int
    cluster_id: str
    node_pool: str
    version: int
    now: int
    stopped_early: bool
    is_compared: bool
    """False: the order of its work depended on the time, so no replay can repeat it."""
    engine_version: str
    differences: list[Difference]
    """None: identical as far as compared."""


def replay(file: RecordsFile, record: Record, profile: Profile | None = None) -> ReplayResult:
    """Decide a record again, with its own or another profile, without a deadline.

    With the same profile the response must be identical, byte for byte. With another one, decisions and
    outcomes are compared. A record that was stopped early is compared up to that point, since the complete
    cycle decides more; if its order depended on the time, it is not compared. Raises RecordsError if the
    record or its profile cannot be used.
    """
    used = _profile(record) if profile is None else profile
    request = DecideRequest(snapshot=file.snapshot(record), actions=record.actions)
    response = Engine(used, installed_registry(), pause_gc).decide(request).parse()
    return ReplayResult(
        record.id,
        *(record.cluster_id, record.node_pool, record.version, record.now),
        record.stopped_early,
        not record.response.shared_time,
        record.engine_version,
        _compare(record, response, is_exact=profile is None),
    )


def _compare(record: Record, response: DecideResponse, *, is_exact: bool) -> list[Difference]:
    if record.response.shared_time:
        return []
    if record.stopped_early:
        return missing_decisions(record.response, response)
    found = compare_responses(record.response, response)
    return found or (list(other_fields(record.response, response)) if is_exact else [])


def _profile(record: Record) -> Profile:
    """Profile of the record. Raises RecordsError if this server does not know a part of it."""
    try:
        profile = record.profile
        problems = [f"{path}: {problem}" for path, problem in check_profile(profile, installed_registry())]
    except ValueError as error:
        problems = [str(error)]
    if problems:
        message = "; ".join(problems)
        raise RecordsError(f"record {record.id} cannot be replayed with its profile: {message}")
    return profile
