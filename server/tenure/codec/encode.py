"""Encode the result of a cycle as a response: outcomes, protections, in-flight groups, nominations, warnings,
queues. `decision_encoder` encodes the decision groups.

Fields are written in the order of their numbers, without defaults, so the bytes are those that the
deterministic protobuf serializer gives.
"""

from collections.abc import Callable
from typing import Final

from tenure.codec.carried.kinds import encode_patches
from tenure.codec.decision_encoder import DecisionEncoder, encode_reserve
from tenure.codec.decisions.planned_starts import planned_start_fields
from tenure.codec.encoded_response import EncodedResponse, WarningSummary, encode_header, summarize
from tenure.codec.encoding_cache import EncodingCache
from tenure.codec.messages import SCOPES, ReasonMessages, encode_reason, printable_detail
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupStatus, PodGroupOutcome
from tenure.solver.model.disruption_limits import EvictionRateStatus
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.requeue import Nomination, NominationResult
from tenure.solver.model.resources import Share
from tenure.solver.model.verdict import Protection
from tenure.terms.cancellation import STRIDE, no_check
from tenure.terms.custom_reason import NO_REASONS, DeclaredReasons
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import decision_pb2 as pb
from tenure.wire.timestamps import span, timestamp
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import message, number, scalar, serialize_message, tag, text

_POD_GROUP: Final = tag(pb.PodGroupOutcome, "pod_group")
_KIND: Final = tag(pb.PodGroupOutcome, "kind")
_REASON: Final = tag(pb.PodGroupOutcome, "reason")
_BOUND: Final = tag(pb.PodGroupOutcome, "bound")
_RESERVED: Final = tag(pb.PodGroupOutcome, "reserved")
_PENDING: Final = tag(pb.PodGroupOutcome, "pending")


def encode_outcome(cache: EncodingCache, outcome: PodGroupOutcome, messages: ReasonMessages) -> bytes:
    """Outcome of one pod group that has pods to schedule."""
    reason = outcome.reason
    custom = cache.reasons.find(reason.source, reason.code, reason.custom)
    detail = printable_detail(reason.detail) or ("" if custom is None else custom.clause)
    sentence = messages.outcome(outcome, detail)
    return message(
        [
            _POD_GROUP,
            cache.pod_group(outcome.pod_group).encoded,
            _KIND,
            number(outcome.kind),
            _REASON,
            encode_reason(cache, reason.code, sentence, reason.source, reason.until, detail, custom),
            scalar(_BOUND, number(outcome.bound)),
            scalar(_RESERVED, number(outcome.reserved)),
            scalar(_PENDING, number(outcome.pending)),
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


class ProtectionEncoder:
    """Encodes protections. There may be several per pod group, and most differ in pod group and time only."""

    def __init__(self, cluster: Cluster, cache: EncodingCache) -> None:
        self._cluster = cluster
        self._cache = cache
        self._guards: dict[tuple[str, tuple[str, ...]], bytes] = {}
        """Fields before the time."""
        self._sources: dict[tuple[str, str, int], bytes] = {}
        """Fields after the time."""

    def encode(self, protection: Protection) -> bytes:
        """Protection of one pod group."""
        fields = [_PROTECTED_POD_GROUP, text(self._cluster.pod_groups[protection.pod_group].facts.uid)]
        guard = self._guards.get((protection.guard, protection.actions))
        fields.append(self._encode_guard(protection) if guard is None else guard)
        if protection.until is not None:
            fields += [_UNTIL, self._cache.moment(protection.until)]
        source = self._sources.get((protection.source, protection.against, protection.scope))
        fields.append(self._encode_source(protection) if source is None else source)
        if protection.against_pod_group is not None:
            fields += [_AGAINST_POD_GROUP, self._cache.pod_group(protection.against_pod_group).encoded]
        return message(fields)

    def _encode_guard(self, protection: Protection) -> bytes:
        fields = [_GUARD, text(protection.guard)]
        for action in protection.actions:
            fields += [_ACTIONS, text(action)]
        encoded = self._guards[protection.guard, protection.actions] = b"".join(fields)
        return encoded

    def _encode_source(self, protection: Protection) -> bytes:
        source, against, scope = protection.source, protection.against, protection.scope
        fields = [
            scalar(_SOURCE, text(source)),
            scalar(_AGAINST, text(against)),
            scalar(_SCOPE, SCOPES[scope]),
        ]
        encoded = self._sources[source, against, scope] = b"".join(fields)
        return encoded


_ID: Final = tag(pb.InFlightGroupStatus, "id")
_STATE: Final = tag(pb.InFlightGroupStatus, "state")
_STATUS_REASON: Final = tag(pb.InFlightGroupStatus, "reason")
_RESERVATIONS: Final = tag(pb.InFlightGroupStatus, "reservations")
_REPLACED_PODS: Final = tag(pb.InFlightGroupStatus, "replaced_pods")
_REPLACED_POD: Final = tag(pb.ReplacedPod, "pod")
_REPLACED_BY: Final = tag(pb.ReplacedPod, "by")


def encode_in_flight_status(
    cluster: Cluster, cache: EncodingCache, status: InFlightGroupStatus, messages: ReasonMessages
) -> bytes:
    """State of one in-flight group."""
    reason = status.reason
    fields = [_ID, text(cluster.in_flight[status.group].id), _STATE, number(status.state)]
    detail = printable_detail(reason.detail)
    sentence, source = messages.in_flight(status, detail), reason.source or "fulfill"
    fields += [_STATUS_REASON, encode_reason(cache, reason.code, sentence, source, None, detail)]
    for hold in status.reservations:
        fields += [_RESERVATIONS, encode_reserve(cluster, cache, hold)]
    for pod, task in status.replaced:
        replaced = [_REPLACED_POD, text(pod), _REPLACED_BY, text(cluster.tasks[task].facts.uid)]
        fields += [_REPLACED_PODS, message(replaced)]
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
    """One nomination, with its reason as a sentence."""
    group, groups = cluster.pod_groups[nomination.pod_group], cluster.pod_groups
    sentence = f"Pod group {group.facts.name} (queue {group.facts.queue_name}) {_MESSAGES[nomination.result]}"
    skip, code = nomination.skip_reason, nomination.code
    detail = printable_detail(nomination.detail)
    return pb.Nomination(
        pod_group=group.facts.uid,
        result=f"NOMINATION_RESULT_{nomination.result.name}",
        skip_reason=None if skip is None else f"NOMINATION_SKIP_REASON_{skip.name}",
        nominated_by=nomination.nominated_by if nomination.is_candidate else (),
        reason=pb.Reason(
            code="REASON_CODE_UNSPECIFIED" if code is None else f"REASON_CODE_{code.name}",
            message=f"{escape_control_characters(sentence)}{': ' if detail else ''}{detail}.",
            source="requeue" if nomination.is_candidate else ", ".join(nomination.nominated_by),
            until=None if nomination.until is None else timestamp(nomination.until),
            detail=detail,
        ),
        overrun=span(nomination.overrun) if nomination.overrun else None,
        contender="" if nomination.contender is None else groups[nomination.contender].facts.uid,
        not_before=None if nomination.not_before is None else timestamp(nomination.not_before),
        surplus_only=group.is_semi_preemptible,
    )


def encode_warning(warning: WarningSummary) -> service_pb.SnapshotWarning:
    """One warning."""
    return service_pb.SnapshotWarning(
        code=service_pb.WarningCode.Name(warning.code),
        message=f"{warning.subject}{warning.detail}",
        detail=warning.detail,
        pod_groups=warning.pod_groups,
        count=warning.total,
    )


_QUEUES: Final = tag(service_pb.DecideResponse, "queues")
_GROUPS: Final = tag(service_pb.DecideResponse, "groups")
_OUTCOMES: Final = tag(service_pb.DecideResponse, "outcomes")
_PROTECTIONS: Final = tag(service_pb.DecideResponse, "protections")
_NEXT_WAKE_TIME: Final = tag(service_pb.DecideResponse, "next_wake_time")
_WARNINGS: Final = tag(service_pb.DecideResponse, "warnings")
_SEARCH_COUNTERS: Final = tag(service_pb.DecideResponse, "counters")
_NOMINATIONS: Final = tag(service_pb.DecideResponse, "nominations")
_SHARED_TIME: Final = tag(service_pb.DecideResponse, "shared_time")
_STOPPED_EARLY: Final = tag(service_pb.DecideResponse, "stopped_early")
_IN_FLIGHT: Final = tag(service_pb.DecideResponse, "in_flight_group_statuses")
_BUDGETS: Final = tag(service_pb.DecideResponse, "disruption_budgets")
_RATES: Final = tag(service_pb.DecideResponse, "eviction_rates")
_STATE_PATCHES: Final = tag(service_pb.DecideResponse, "state_patches")

_NAME: Final = tag(service_pb.QueueStatus, "name")
_OF_QUEUES: Final = ("fair_share", "allocated_before", "allocated_after", "requested")
_OF_SOME_QUEUES: Final = ("past_use", "share_by_weight", "kept")
_SHARES: Final = tuple([tag(service_pb.QueueStatus, name) for name in (*_OF_QUEUES, *_OF_SOME_QUEUES)])
"""Shares of a queue, in the order of QueueStatus."""

_CPU: Final = tag(service_pb.ResourceShare, "cpu_milli")
_MEMORY: Final = tag(service_pb.ResourceShare, "memory_bytes")
_GPU: Final = tag(service_pb.ResourceShare, "gpu_milli")


def encode_response(
    cluster: Cluster,
    result: CycleResult,
    header: service_pb.ResponseHeader,
    check: Callable[[], None] = no_check,
    reasons: DeclaredReasons = NO_REASONS,
) -> EncodedResponse:
    """Encode the result of a cycle. Pure: equal input gives equal bytes.

    `check` is called every few rows, and raises when the call has ended. `reasons` are those that plugins and
    actions of other packages may give.

    Groups are in the order of decision, outcomes and protections by UID, queues by name. Indices of a cluster
    are in the order of UIDs and names, so sorting by index is enough. IDs depend on the header.
    """
    cache = EncodingCache(cluster, reasons)
    messages = ReasonMessages(cluster, cache)
    decisions = DecisionEncoder(cluster, header, cache, messages, result.eviction_rates)
    groups: list[bytes] = []
    check()
    for ordinal, group in enumerate(result.groups):
        if not ordinal % STRIDE:
            check()
        groups += [_GROUPS, decisions.group(ordinal, group)]
    summary = summarize(cluster, result, header, decisions.group_ids, reasons)
    fields = [encode_header(summary), *groups]
    check()
    for outcome in sorted(result.outcomes, key=_outcome_order):
        fields += [_OUTCOMES, encode_outcome(cache, outcome, messages)]
    protections = ProtectionEncoder(cluster, cache)
    check()
    for protection in sorted(result.protections, key=_protection_order):
        fields += [_PROTECTIONS, protections.encode(protection)]
    check()
    if result.next_wake_time is not None:
        fields += [_NEXT_WAKE_TIME, cache.moment(result.next_wake_time)]
    for queue in sorted(result.queues):
        fields += [_QUEUES, _encode_queue(cluster, queue)]
    for warning in summary.warnings:
        fields += [_WARNINGS, serialize_message(encode_warning(warning))]
    counters = service_pb.SearchCounters(**summary.counters)
    fields += [_SEARCH_COUNTERS, serialize_message(counters)]
    for nomination in result.nominations:
        fields += [_NOMINATIONS, serialize_message(encode_nomination(cluster, nomination))]
    fields.append(scalar(_STOPPED_EARLY, number(result.stopped_early)))
    for status in result.in_flight:
        fields += [_IN_FLIGHT, encode_in_flight_status(cluster, cache, status, messages)]
    for budget in result.disruption_budgets:
        fields += [_BUDGETS, serialize_message(service_pb.DisruptionBudgetStatus(**budget._asdict()))]
    for rate in result.eviction_rates:
        fields += [_RATES, serialize_message(_encode_rate(rate))]
    for patch in encode_patches(cluster, result.carried):
        fields += [_STATE_PATCHES, serialize_message(patch)]
    fields += planned_start_fields(cluster, result)
    fields.append(scalar(_SHARED_TIME, number(result.shared_time)))
    return EncodedResponse(b"".join(fields), len(fields[0]), summary)


def _encode_rate(rate: EvictionRateStatus) -> service_pb.EvictionRateStatus:
    return service_pb.EvictionRateStatus(
        name=rate.name,
        before_milli=rate.before,
        after_milli=rate.after,
        full_time=None if rate.full_time is None else timestamp(rate.full_time),
        refusals=rate.refusals,
    )


def _outcome_order(outcome: PodGroupOutcome) -> int:
    return outcome.pod_group


def _protection_order(protection: Protection) -> tuple[int, str, tuple[str, ...], str, int]:
    from_one = -1 if protection.against_pod_group is None else protection.against_pod_group
    return protection.pod_group, protection.guard, protection.actions, protection.against, from_one


def _encode_queue(cluster: Cluster, status: QueueStatus) -> bytes:
    fields = [_NAME, text(cluster.queues[status.queue].facts.name)]
    for name, share in zip(_SHARES, status[1:-1], strict=True):  # `by_class` is for metrics
        if share is not None:
            fields += [name, _encode_share(share)]
    return message(fields)


def _encode_share(share: Share) -> bytes:
    cpu, memory, gpu = share
    return message([scalar(_CPU, number(cpu)), scalar(_MEMORY, number(memory)), scalar(_GPU, number(gpu))])
