"""An encoded response and its summary.

A response is written once, as bytes. Nothing parses these bytes on the way to the caller. Metrics, logs,
spans and the response cache read the summary instead. Both can be pickled, since a solver process returns
them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from tenure.codec.decisions.group_counts import (
    NO_NOTICES,
    GroupSummary,
    NoticeCounts,
    count_notices,
    pods_with_notice,
    summarize_groups,
)
from tenure.codec.decisions.planned_starts import NO_PLANNED_STARTS, PlannedStartCounts, count_planned_starts
from tenure.codec.messages import printable_detail
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.disruption_limits import EvictionRateStatus
from tenure.solver.model.resources import Share
from tenure.solver.model.snapshot_warning import SnapshotWarning
from tenure.terms.custom_reason import NO_REASONS, DeclaredReasons
from tenure.v1.decide_pb2 import DecideResponse, ResponseHeader, SearchCounters
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import serialize_message, tag

MAX_NAMED = 100
"""Maximum number of pod groups that one warning names."""


class QueueSummary(NamedTuple):
    """Shares of one queue. Amounts are cpu_milli, memory_bytes and gpu_milli."""

    name: str
    fair_share: Share
    allocated: Share
    """Allocated after the cycle."""
    pods_with_notice: int = 0
    """Pods of its own pod groups whose notice of eviction stands after the cycle."""
    past_use: Share | None = None
    """Past use that its fair share follows, in millionths; None: no queue has any."""
    kept: Share | None = None
    """What is kept free of its quota after the cycle; None: no queue keeps anything."""
    by_class: tuple[tuple[str, int], ...] = ()
    """What it has of classes of nodes that it has limits for, in thousandths of a GPU."""


class NominationSummary(NamedTuple):
    """One nomination. Numbers are those of the enums of the contract, times are in nanoseconds."""

    pod_group: str
    result: int
    skip_reason: int
    """0: not skipped."""
    is_candidate: bool
    """Whether a plugin nominated it."""
    plugins: tuple[str, ...]
    """Plugins that nominated it; if it is not a candidate, plugins that evaluated it."""
    detail: str
    until: int | None
    overrun: int
    contender: str
    """Empty: none."""
    not_before: int | None
    surplus_only: bool
    """Whether it is semi-preemptible."""
    skips: tuple[tuple[str, int, str], ...] = ()
    """Plugins that skipped it, each with the number of its reason and the detail."""


class WarningSummary(NamedTuple):
    """One snapshot warning."""

    code: int
    """Number of the WarningCode."""
    subject: str
    """Begin of the sentence: `pod group NAME: `, or empty."""
    detail: str
    pod_groups: tuple[str, ...]
    """UIDs of the first MAX_NAMED pod groups, of all `total`."""
    total: int


class CycleSummary(NamedTuple):
    """What telemetry, records and the response cache need of a response."""

    cluster_id: str
    node_pool: str
    version: int
    now: int
    """Nanoseconds since the Unix epoch."""
    profile_digest: str
    stopped_early: bool
    next_wake_time: int | None
    """Nanoseconds since the Unix epoch."""
    groups: tuple[GroupSummary, ...]
    decisions: Mapping[tuple[str, str], int]
    """Number of decisions by action and kind."""
    allowed_evictions: Mapping[tuple[str, str], int]
    """Number of evictions that a guard allowed, by guard and action."""
    victim_sets: Mapping[tuple[str, int], int]
    """Number of sets of victims by action and Minimality."""
    put_back: Mapping[str, int]
    """Number of pods that a search had taken and that are not disrupted, by action."""
    evicted_cost: Mapping[str, int]
    """GPU-seconds that victims cost, by action; empty: no plugin says."""
    excess_gpu_milli: Mapping[str, int]
    """GPUs that evicted pods release beyond requests, in thousandths, by action."""
    outcomes: Mapping[int, int]
    """Number of outcomes by OutcomeKind."""
    pending_reasons: Mapping[int, int]
    """Number of outcomes that are not BOUND, by ReasonCode."""
    custom_reasons: Mapping[tuple[str, str], int]
    """Number of outcomes that are not BOUND, by plugin or action and its declared code."""
    held: Mapping[str, int]
    """Pod groups that are held, by what holds them."""
    has_outcome_until: bool
    """Whether the reason of an outcome states until when it holds."""
    protected: Mapping[str, int]
    """Number of protected pod groups by guard."""
    in_flight_states: frozenset[int]
    """InFlightGroupState of the groups in flight."""
    counters: Mapping[str, int]
    queues: tuple[QueueSummary, ...]
    """By name."""
    nominations: tuple[NominationSummary, ...]
    without_expected_runtime: int
    """Number of running pod groups that have none, if the plugin `expectedruntime` nominates in the cycle."""
    warnings: tuple[WarningSummary, ...]
    eviction_rates: tuple[EvictionRateStatus, ...] = ()
    notices: NoticeCounts = NO_NOTICES
    planned_starts: PlannedStartCounts = NO_PLANNED_STARTS


class EncodedResponse(NamedTuple):
    """A serialized DecideResponse and its summary."""

    content: bytes
    """Serialized message; equal to what the deterministic protobuf serializer returns."""
    header_length: int
    """Number of bytes of the header, which is the first field."""
    summary: CycleSummary
    statuses: bytes = b""
    """Serialized `pod_group_statuses` of a DecideResponse, for the caller alone: not recorded or cached."""

    def at(self, now: int) -> "EncodedResponse":
        """Copy of the response with another time in its header."""
        summary = self.summary._replace(now=now)
        header = encode_header(summary)
        return EncodedResponse(header + self.content[self.header_length :], len(header), summary)

    def parse(self) -> DecideResponse:
        """The response as a message, for callers in the same process."""
        return DecideResponse.FromString(self.content + self.statuses)


_HEADER = tag(DecideResponse, "header")
_COUNTERS = tuple([field.name for field in SearchCounters.DESCRIPTOR.fields])


def encode_header(summary: CycleSummary) -> bytes:
    """The header as a field of the response."""
    header = ResponseHeader(
        cluster_id=summary.cluster_id,
        node_pool=summary.node_pool,
        version=summary.version,
        now=timestamp(summary.now),
        profile_digest=summary.profile_digest,
    )
    return _HEADER + serialize_message(header)


def summarize(
    cluster: Cluster,
    result: CycleResult,
    header: ResponseHeader,
    group_ids: list[str],
    declared: DeclaredReasons = NO_REASONS,
) -> CycleSummary:
    """Summarize the result of a cycle. `group_ids` are the IDs of its decision groups."""
    outcomes: dict[int, int] = {}
    reasons: dict[int, int] = {}
    customs: dict[tuple[str, str], int] = {}
    for outcome in result.outcomes:
        outcomes[int(outcome.kind)] = outcomes.get(int(outcome.kind), 0) + 1
        if outcome.kind is not OutcomeKind.BOUND:
            code = int(outcome.reason.code)
            reasons[code] = reasons.get(code, 0) + 1
            source = outcome.reason.source
            custom = declared.find(source, outcome.reason.code, outcome.reason.custom)
            if custom is not None:
                customs[source, custom.code] = customs.get((source, custom.code), 0) + 1
    groups, decisions, allowed = summarize_groups(result, group_ids)
    victim_sets, put_back, evicted_cost, excess = _count_victim_sets(result)
    return CycleSummary(
        cluster_id=header.cluster_id,
        node_pool=header.node_pool,
        version=header.version,
        now=header.now.ToNanoseconds(),
        profile_digest=header.profile_digest,
        stopped_early=result.stopped_early,
        next_wake_time=result.next_wake_time,
        groups=groups,
        decisions=decisions,
        allowed_evictions=allowed,
        victim_sets=victim_sets,
        put_back=put_back,
        evicted_cost=evicted_cost,
        excess_gpu_milli=excess,
        outcomes=outcomes,
        held=_count_held(cluster, result) if OutcomeKind.HELD in outcomes else {},
        pending_reasons=reasons,
        custom_reasons=customs,
        has_outcome_until=any(outcome.reason.until is not None for outcome in result.outcomes),
        protected=_count_protected(result),
        in_flight_states=frozenset([int(status.state) for status in result.in_flight]),
        counters={name: getattr(result.counters, name) for name in _COUNTERS},
        queues=_summarize_queues(cluster, result),
        nominations=_summarize_nominations(cluster, result),
        without_expected_runtime=result.without_expected_runtime,
        warnings=_summarize_warnings(cluster, result),
        eviction_rates=result.eviction_rates,
        notices=count_notices(cluster, result),
        planned_starts=count_planned_starts(cluster, result),
    )


def _count_victim_sets(
    result: CycleResult,
) -> tuple[Counter[tuple[str, int]], Counter[str], Counter[str], Counter[str]]:
    """Sets of victims by action and minimality; pods put back, costs and excess GPUs by action."""
    sets, put_back, costs = Counter[tuple[str, int]](), Counter[str](), Counter[str]()
    excess = Counter[str]()
    for group in result.groups:
        known = group.known_victims()
        if known is not None:
            if not group.fulfills_group:  # else it was counted with its notices
                sets[group.action, int(known.minimality)] += 1
                put_back[group.action] += known.put_back
                if known.excess_gpu_milli:
                    excess[group.action] += known.excess_gpu_milli
            if known.costs and group.evictions:
                costs[group.action] += known.cost // 1000
    return sets, put_back, costs, excess


def _count_held(cluster: Cluster, result: CycleResult) -> dict[str, int]:
    held = [each.pod_group for each in result.outcomes if each.kind is OutcomeKind.HELD]
    return Counter([cluster.pod_groups[index].facts.victim.held_by.name.lower() for index in held])


def _count_protected(result: CycleResult) -> dict[str, int]:
    """Protected pod groups by guard. A pod group counts once for a guard, whatever it is protected from."""
    return Counter([guard for _, guard in {(each.pod_group, each.guard) for each in result.protections}])


def _summarize_queues(cluster: Cluster, result: CycleResult) -> tuple[QueueSummary, ...]:
    noticed_pods = pods_with_notice(cluster, result)
    return tuple(
        [
            QueueSummary(
                cluster.queues[status.queue].facts.name,
                status.fair_share,
                status.allocated_after,
                noticed_pods[status.queue],
                status.past_use,
                status.kept,
                status.by_class,
            )
            for status in sorted(result.queues)
        ]
    )


def _summarize_nominations(cluster: Cluster, result: CycleResult) -> tuple[NominationSummary, ...]:
    pod_groups = cluster.pod_groups
    return tuple(
        [
            NominationSummary(
                pod_group=pod_groups[each.pod_group].facts.uid,
                result=int(each.result),
                skip_reason=0 if each.skip_reason is None else int(each.skip_reason),
                is_candidate=each.is_candidate,
                plugins=each.nominated_by,
                detail=printable_detail(each.detail),
                until=each.until,
                overrun=each.overrun,
                contender="" if each.contender is None else pod_groups[each.contender].facts.uid,
                not_before=each.not_before,
                surplus_only=pod_groups[each.pod_group].is_semi_preemptible,
                skips=tuple(
                    [(skip.plugin, int(skip.reason), printable_detail(skip.detail)) for skip in each.skips]
                ),
            )
            for each in result.nominations
        ]
    )


def _summarize_warnings(cluster: Cluster, result: CycleResult) -> tuple[WarningSummary, ...]:
    pod_groups = cluster.pod_groups
    return tuple(
        [
            WarningSummary(
                code=int(warning.code),
                subject=_subject(cluster, warning),
                detail=escape_control_characters(warning.detail),
                pod_groups=tuple([pod_groups[index].facts.uid for index in warning.pod_groups[:MAX_NAMED]]),
                total=len(warning.pod_groups),
            )
            for warning in result.warnings
        ]
    )


def _subject(cluster: Cluster, warning: SnapshotWarning) -> str:
    if not warning.is_about_one:
        return ""
    return f"pod group {escape_control_characters(cluster.pod_groups[warning.pod_groups[0]].facts.name)}: "
