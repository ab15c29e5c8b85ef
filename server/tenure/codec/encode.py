"""A decision to a response message.

Outcomes of pod groups: from the model to messages.

Protections: from the model to messages.

What became of groups in flight: from the model to messages.

What became of the pod groups that are expected to end: from the model to messages.

Doubts about a snapshot: from the model to messages.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from tenure.codec.decision_encoder import DecisionEncoder, encode_reserve
from tenure.codec.encoding_cache import EncodingCache
from tenure.codec.messages import SCOPES, ReasonMessages, encode_reason
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    CycleResult,
    InFlightGroupStatus,
    PodGroupOutcome,
    Protection,
    QueueStatus,
    SearchCounters,
)
from tenure.solver.model.requeue import Nomination, NominationResult
from tenure.solver.model.resources import Share
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import decision_pb2 as pb
from tenure.wire.timestamps import span, timestamp
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import message, number, tag, text

_POD_GROUP: Final = tag(pb.PodGroupOutcome, "pod_group")
_KIND: Final = tag(pb.PodGroupOutcome, "kind")
_REASON: Final = tag(pb.PodGroupOutcome, "reason")
_BOUND: Final = tag(pb.PodGroupOutcome, "bound")
_RESERVED: Final = tag(pb.PodGroupOutcome, "reserved")
_PENDING: Final = tag(pb.PodGroupOutcome, "pending")


def encode_outcome(cache: EncodingCache, outcome: PodGroupOutcome, say: ReasonMessages) -> bytes:
    """What became of one pod group that had pods to schedule. Kinds are numbered as in the contract."""
    reason = outcome.reason
    return message(
        [
            _POD_GROUP,
            cache.pod_group(outcome.pod_group).encoded,
            _KIND,
            number(outcome.kind),
            _REASON,
            encode_reason(cache, reason.code, say.outcome(outcome), reason.source, reason.until),
            _BOUND,
            number(outcome.bound),
            _RESERVED,
            number(outcome.reserved),
            _PENDING,
            number(outcome.pending),
        ]
    )


_PROTECTED_POD_GROUP: Final = tag(pb.Protection, "pod_group")
_GUARD: Final = tag(pb.Protection, "guard")
_ACTIONS: Final = tag(pb.Protection, "actions")
_UNTIL: Final = tag(pb.Protection, "until")
_SOURCE: Final = tag(pb.Protection, "source")
_AGAINST: Final = tag(pb.Protection, "against")
_SCOPE: Final = tag(pb.Protection, "scope")
_AGAINST_POD_GROUP: Final = tag(pb.Protection, "against_pod_group")


def encode_protection(cache: EncodingCache, protection: Protection) -> bytes:
    """Who may not touch a pod group until when."""
    fields = [_PROTECTED_POD_GROUP, cache.pod_group(protection.pod_group).encoded]
    fields += [_GUARD, cache.encoded_text(protection.guard), _SOURCE, cache.encoded_text(protection.source)]
    fields += [_AGAINST, cache.encoded_text(protection.against), _SCOPE, SCOPES[protection.scope]]
    for action in protection.actions:
        fields += [_ACTIONS, cache.encoded_text(action)]
    if protection.until is not None:
        fields += [_UNTIL, cache.moment(protection.until)]
    if protection.against_pod_group is not None:
        fields += [_AGAINST_POD_GROUP, cache.pod_group(protection.against_pod_group).encoded]
    return message(fields)


_ID: Final = tag(pb.InFlightGroupStatus, "id")
_STATE: Final = tag(pb.InFlightGroupStatus, "state")
_STATUS_REASON: Final = tag(pb.InFlightGroupStatus, "reason")
_RESERVATIONS: Final = tag(pb.InFlightGroupStatus, "reservations")


def encode_in_flight_status(
    cluster: Cluster, cache: EncodingCache, status: InFlightGroupStatus, say: ReasonMessages
) -> bytes:
    """The verdict on one group in flight. Results are numbered as in the contract."""
    reason = status.reason
    fields = [_ID, text(cluster.in_flight[status.group].id), _STATE, number(status.state)]
    said = say.in_flight(status)
    fields += [_STATUS_REASON, encode_reason(cache, reason.code, said, reason.source or "fulfill")]
    for hold in status.reservations:
        fields += [_RESERVATIONS, encode_reserve(cluster, cache, hold)]
    return message(fields)


_MESSAGES: Final = {
    NominationResult.NOT_DUE: "has not reached its expected runtime",
    NominationResult.SKIPPED: "is not nominated for requeue",
    NominationResult.NO_CONTENDER: "exceeded its expected runtime and keeps running",
    NominationResult.NO_BENEFIT: "exceeded its expected runtime and keeps running",
    NominationResult.PROTECTED: "exceeded its expected runtime and keeps running",
    NominationResult.REQUEUED: "exceeded its expected runtime and is requeued",
    NominationResult.BUDGET_EXHAUSTED: "exceeded its expected runtime and was not evaluated",
    NominationResult.ALREADY_MOVED: "exceeded its expected runtime",
}


def encode_nomination(cluster: Cluster, nomination: Nomination) -> pb.Nomination:
    """One nomination with its reason in words."""
    group, groups = cluster.pod_groups[nomination.pod_group], cluster.pod_groups
    told = f"Pod group {group.name} (queue {group.queue_name}) {_MESSAGES[nomination.result]}"
    skip, code = nomination.skip_reason, nomination.code
    return pb.Nomination(
        pod_group=group.uid,
        result=f"NOMINATION_RESULT_{nomination.result.name}",
        skip_reason=None if skip is None else f"NOMINATION_SKIP_REASON_{skip.name}",
        nominated_by=nomination.nominated_by if nomination.is_candidate else (),
        reason=pb.Reason(
            code="REASON_CODE_UNSPECIFIED" if code is None else f"REASON_CODE_{code.name}",
            message=escape_control_characters(
                f"{told}: {nomination.detail}." if nomination.detail else f"{told}."
            ),
            source="requeue" if nomination.is_candidate else ", ".join(nomination.nominated_by),
            until=None if nomination.until is None else timestamp(nomination.until),
        ),
        overrun=span(nomination.overrun) if nomination.overrun else None,
        contender="" if nomination.contender is None else groups[nomination.contender].uid,
        not_before=None if nomination.not_before is None else timestamp(nomination.not_before),
    )


MAX_NAMED: Final = 100
"""Pod groups that one warning names."""


def encode_warning(cluster: Cluster, warning: SnapshotWarning) -> service_pb.SnapshotWarning:
    """One doubt as a warning."""
    return service_pb.SnapshotWarning(
        code=f"WARNING_CODE_{warning.code.name}",
        message=escape_control_characters(warning.message),
        pod_groups=[cluster.pod_groups[index].uid for index in warning.pod_groups[:MAX_NAMED]],
        count=len(warning.pod_groups),
    )


_COUNTERS: Final = tuple([counter.name for counter in fields(SearchCounters)])
_QUEUES: Final = tag(service_pb.DecideResponse, "queues")
_GROUPS: Final = tag(service_pb.DecideResponse, "groups")
_OUTCOMES: Final = tag(service_pb.DecideResponse, "outcomes")
_PROTECTIONS: Final = tag(service_pb.DecideResponse, "protections")
_IN_FLIGHT: Final = tag(service_pb.DecideResponse, "in_flight_group_statuses")

_NAME: Final = tag(service_pb.QueueStatus, "name")
_FAIR_SHARE: Final = tag(service_pb.QueueStatus, "fair_share")
_ALLOCATED_BEFORE: Final = tag(service_pb.QueueStatus, "allocated_before")
_ALLOCATED_AFTER: Final = tag(service_pb.QueueStatus, "allocated_after")

_CPU: Final = tag(service_pb.ResourceShare, "cpu_milli")
_MEMORY: Final = tag(service_pb.ResourceShare, "memory_bytes")
_GPU: Final = tag(service_pb.ResourceShare, "gpu_milli")


def encode_response(
    cluster: Cluster, decision: CycleResult, header: service_pb.ResponseHeader
) -> service_pb.DecideResponse:
    """The answer: groups in the order of decision, outcomes and protections by uid, queues by name.

    `based_on` is what ids are made from and what the answer echoes. Indices of the cluster are in the order
    of uids and names, so sorting by them is sorting by those. Pure: equal input, equal bytes.
    """
    answer = service_pb.DecideResponse(
        header=header,
        next_wake_time=None if decision.next_wake_time is None else timestamp(decision.next_wake_time),
        warnings=[encode_warning(cluster, doubt) for doubt in decision.warnings],
        counters=service_pb.SearchCounters(**{name: getattr(decision.counters, name) for name in _COUNTERS}),
        nominations=[encode_nomination(cluster, each) for each in decision.nominations],
        stopped_early=decision.stopped_early,
    )
    answer.MergeFromString(b"".join(_lists(cluster, decision, header)))
    return answer


def _lists(cluster: Cluster, decision: CycleResult, header: service_pb.ResponseHeader) -> Iterable[bytes]:
    """The lists with a row for every queue or pod group, or for every pod that is moved."""
    recurring = EncodingCache(cluster)
    say = ReasonMessages(cluster, recurring)
    steps = DecisionEncoder(cluster, header, recurring, say)
    rows: list[bytes] = []
    for queue in sorted(decision.queues):
        rows += [_QUEUES, _encode_queue(cluster, queue)]
    for ordinal, group in enumerate(decision.groups):
        rows += [_GROUPS, steps.group(ordinal, group)]
    for outcome in sorted(decision.outcomes, key=_outcome_order):
        rows += [_OUTCOMES, encode_outcome(recurring, outcome, say)]
    for protection in sorted(decision.protections, key=_protection_order):
        rows += [_PROTECTIONS, encode_protection(recurring, protection)]
    for status in decision.in_flight:
        rows += [_IN_FLIGHT, encode_in_flight_status(cluster, recurring, status, say)]
    return rows


def _outcome_order(outcome: PodGroupOutcome) -> int:
    return outcome.pod_group


def _protection_order(protection: Protection) -> tuple[int, str, tuple[str, ...], str, int]:
    from_one = -1 if protection.against_pod_group is None else protection.against_pod_group
    return protection.pod_group, protection.guard, protection.actions, protection.against, from_one


def _encode_queue(cluster: Cluster, status: QueueStatus) -> bytes:
    fields = [_NAME, text(cluster.queues[status.queue].name), _FAIR_SHARE, _encode_share(status.fair_share)]
    fields += [_ALLOCATED_BEFORE, _encode_share(status.allocated_before)]
    fields += [_ALLOCATED_AFTER, _encode_share(status.allocated_after)]
    return message(fields)


def _encode_share(share: Share) -> bytes:
    cpu, memory, gpu = share
    return message([_CPU, number(cpu), _MEMORY, number(memory), _GPU, number(gpu)])
