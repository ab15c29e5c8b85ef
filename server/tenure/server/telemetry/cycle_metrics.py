"""Metrics, spans and logs of a cycle, written when the cycle is over.

Metrics are counted once per cycle: how long it took, what it decided, why pod groups are pending, what the
search did. Labels come from finite sets: actions and plugins of the profile, codes of the contract. Without
an OpenTelemetry SDK that the operator configures, nothing is recorded.
"""

import threading
from typing import Final

from opentelemetry import metrics
from opentelemetry.metrics import get_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from tenure.codec.decisions.planned_starts import PlannedStartCounts
from tenure.codec.encoded_response import CycleSummary
from tenure.server.telemetry import cycle_spans, requeue_metrics
from tenure.server.telemetry.cycle_log import CycleLog, CycleWorkloads
from tenure.server.telemetry.gauges import LAST_CYCLES, NOTICE_SECONDS, SECONDS
from tenure.server.telemetry.timeline import NO_PARENT, Timeline
from tenure.solver.framework.observer import Phase
from tenure.terms.durations import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2
from tenure.wire.enum_labels import enum_label

_METER: Final = metrics.get_meter("tenure.server")
_CYCLES: Final = _METER.create_histogram(
    "tenure_cycle_duration_seconds",
    description="Duration of cycles from request to response, without waiting in the queue.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_PHASES: Final = _METER.create_histogram(
    "tenure_cycle_phase_duration_seconds",
    description="Duration of the phases of cycles other than actions.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_ACTIONS: Final = _METER.create_histogram(
    "tenure_action_duration_seconds",
    description="Duration of actions.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_STOPPED: Final = _METER.create_counter(
    "tenure_cycles_stopped_early_total",
    description="Cycles that were stopped at the deadline of the caller.",
)
_CACHED_RESPONSES: Final = _METER.create_counter(
    "tenure_cached_responses_total",
    description="Cached responses for unchanged states.",
)
_DECISIONS: Final = _METER.create_counter(
    "tenure_decisions_total",
    description="Decisions by action and kind.",
)
_ALLOWED_EVICTIONS: Final = _METER.create_counter(
    "tenure_guard_allowed_evictions_total",
    description="Evictions that a guard was consulted about and allowed.",
)
_VICTIM_SETS: Final = _METER.create_counter(
    "tenure_victim_sets_total",
    description="Sets of victims by whether all of them are known to be necessary.",
)
_PUT_BACK: Final = _METER.create_counter(
    "tenure_victims_put_back_total",
    description="Pods that a search had taken and gave back before the decision.",
)
_EVICTED_COST: Final = _METER.create_counter(
    "tenure_evicted_cost_gpu_seconds_total",
    description="What evictions cost by the plugin evictioncost: lost work, restarts and declared costs.",
)
_EXCESS: Final = _METER.create_counter(
    "tenure_excess_gpus_total",
    description="GPUs that evicted pods release beyond those that the beneficiary takes.",
)
_NOTICES: Final = _METER.create_counter(
    "tenure_notices_given_total",
    description="Pods that were told that they will be evicted.",
)
_CARRIED_OUT: Final = _METER.create_counter(
    "tenure_notices_carried_out_total",
    description="Pods that were evicted when their notice was over.",
)
_WITHDRAWN: Final = _METER.create_counter(
    "tenure_notices_withdrawn_total",
    description="Pods whose notice was withdrawn, by the reason.",
)
_NOTICE_DURATION: Final = _METER.create_histogram(
    "tenure_notice_duration_seconds",
    description="Time from the notices of a decision group to its evictions.",
    explicit_bucket_boundaries_advisory=NOTICE_SECONDS,
)
_OUTCOMES: Final = _METER.create_counter(
    "tenure_pod_group_outcomes_total",
    description="Outcomes of pod groups with pods to schedule, one per pod group and cycle.",
)
_PENDING_REASONS: Final = _METER.create_counter(
    "tenure_pending_reasons_total",
    description="Reasons of outcomes other than bound, one per pod group and cycle.",
)
_CUSTOM_REASONS: Final = _METER.create_counter(
    "tenure_custom_reasons_total",
    description="Reasons of pending pod groups that plugins and actions of other packages declare.",
)
_SCENARIOS: Final = _METER.create_counter(
    "tenure_search_scenarios_total",
    description="Scenarios of the victim search: simulated, cached failures, or pruned.",
)
_PLACEMENT_ATTEMPTS: Final = _METER.create_counter(
    "tenure_search_placement_attempts_total",
    description="Attempts to place a pod.",
)
_VICTIMS_CONSIDERED: Final = _METER.create_counter(
    "tenure_search_victims_considered_total",
    description="Victims considered in scenarios.",
)
_RATE_REFUSALS: Final = _METER.create_counter(
    "tenure_eviction_rate_refusals_total",
    description="Scenarios that were rejected because an eviction rate had too few tokens.",
)

_SLIP_SECONDS: Final = (1.0, 10.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0)
_SLIPS: Final = _METER.create_histogram(
    "tenure_reservation_slip_seconds",
    description="Start of a pod group after the first start that was planned by time limits, or 0.",
    explicit_bucket_boundaries_advisory=_SLIP_SECONDS,
)
_DELAYS: Final = _METER.create_counter(
    "tenure_reservation_delays_total",
    description="Planned starts that moved to a later time, by the cause.",
)
_BACKFILLS: Final = _METER.create_counter(
    "tenure_backfills_total",
    description="Pod groups that started on reserved capacity, or were evicted from it.",
)
_IDLE_SECONDS: Final = _METER.create_counter(
    "tenure_reserved_idle_gpu_seconds_total",
    description="GPU-seconds that reserved capacity was free, from cycle to cycle.",
)


def count_cached_response() -> None:
    """Count a cached response."""
    _CACHED_RESPONSES.add(1)


def measure(timeline: Timeline) -> None:
    """Record the durations of a cycle."""
    for entry in timeline.entries:
        if entry.phase is not Phase.ACTION and entry.parent == NO_PARENT:
            _PHASES.record((entry.end - entry.begin) / SECOND, {"phase": entry.phase.value})
    for action, taken in timeline.times_of_actions().items():
        _ACTIONS.record(taken / SECOND, {"action": action})
    _CYCLES.record((timeline.entries[-1].end - timeline.entries[0].begin) / SECOND)


def count(summary: CycleSummary) -> None:
    """Count the results of a cycle."""
    for (action, kind), number in summary.decisions.items():
        _DECISIONS.add(number, {"action": action, "kind": kind})
    for (guard, action), number in summary.allowed_evictions.items():
        _ALLOWED_EVICTIONS.add(number, {"guard": guard, "action": action})
    for (action, minimality), number in summary.victim_sets.items():
        _VICTIM_SETS.add(number, {"action": action, "minimality": enum_label(pb.Minimality, minimality)})
    for action, number in summary.put_back.items():
        _PUT_BACK.add(number, {"action": action})
    for action, number in summary.evicted_cost.items():
        _EVICTED_COST.add(number, {"action": action})
    for action in {**summary.put_back, **summary.excess_gpu_milli}:
        _EXCESS.add(summary.excess_gpu_milli.get(action, 0) / 1000, {"action": action})
    for action, number in summary.notices.given.items():
        _NOTICES.add(number, {"action": action})
    for action, number in summary.notices.carried_out.items():
        _CARRIED_OUT.add(number, {"action": action})
    for (action, code), number in summary.notices.withdrawn.items():
        _WITHDRAWN.add(number, {"action": action, "reason": enum_label(pb.ReasonCode, code)})
    for action, duration in summary.notices.durations:
        _NOTICE_DURATION.record(duration / SECOND, {"action": action})
    for outcome, number in summary.outcomes.items():
        _OUTCOMES.add(number, {"outcome": enum_label(pb.OutcomeKind, outcome)})
    for code, number in summary.pending_reasons.items():
        _PENDING_REASONS.add(number, {"reason": enum_label(pb.ReasonCode, code)})
    for (domain, custom), number in summary.custom_reasons.items():
        _CUSTOM_REASONS.add(number, {"domain": domain, "reason": custom})
    for result in ("simulated", "duplicate", "pruned"):
        _SCENARIOS.add(summary.counters[result], {"result": result})
    _PLACEMENT_ATTEMPTS.add(summary.counters["placement_attempts"])
    _VICTIMS_CONSIDERED.add(summary.counters["victims_considered"])
    for rate in summary.eviction_rates:
        _RATE_REFUSALS.add(rate.refusals, {"rate": rate.name})
    _STOPPED.add(int(summary.stopped_early))
    _count_planned_starts(summary.planned_starts)


def _count_planned_starts(counts: PlannedStartCounts) -> None:
    for slip in counts.slips:
        _SLIPS.record(max(0, slip) / SECOND)
    for cause, number in counts.delays.items():
        _DELAYS.add(number, {"cause": enum_label(snapshot_pb2.StartDelay, cause)})
    for event, number in (("started", counts.lent), ("evicted", counts.ended)):
        if number:
            _BACKFILLS.add(number, {"event": event})


class Cycles:
    """Writes telemetry of cycles. It has no effect on responses."""

    def __init__(self, *, include_workload_names: bool = False) -> None:
        self._names_workloads = include_workload_names
        self._log = CycleLog()
        self._one_writes = threading.Lock()

    def timeline(self) -> Timeline:
        """Timeline for the next cycle, detailed if spans of the call are recorded."""
        return Timeline(is_detailed=cycle_spans.is_recording())

    def write(self, summary: CycleSummary, workloads: CycleWorkloads, timeline: Timeline) -> None:
        """Write telemetry of one cycle. Serialized by a lock.

        An empty timeline means that the response was cached; its cycle was recorded before.
        """
        if not timeline.entries:
            count_cached_response()
            return
        if isinstance(get_meter_provider(), MeterProvider):
            count(summary)
            measure(timeline)
            requeue_metrics.count(summary)
            _IDLE_SECONDS.add(LAST_CYCLES.update(summary))
        if timeline.is_detailed:
            uids = sorted(workloads.pod_groups) if self._names_workloads else ()
            cycle_spans.write(timeline, summary, uids)
        with self._one_writes:
            self._log.write(summary, workloads)
