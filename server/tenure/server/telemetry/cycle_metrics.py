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
from tenure.codec.encoded_response import CycleSummary
from tenure.server.telemetry import cycle_spans, requeue_metrics
from tenure.server.telemetry.cycle_log import CycleLog, CycleWorkloads
from tenure.server.telemetry.gauges import LAST_CYCLES, SECONDS
from tenure.server.telemetry.timeline import NO_PARENT, Timeline
from tenure.solver.framework.observer import Phase
from tenure.terms.durations import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.wire.enum_labels import enum_label

_METER: Final = metrics.get_meter("tenure.server")
_CYCLES: Final = _METER.create_histogram(
    "tenure_cycle_duration_seconds",
    description="How long cycles took, from the message to the answer, waiting for their turn apart.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_PHASES: Final = _METER.create_histogram(
    "tenure_cycle_phase_duration_seconds",
    description="How long the phases of cycles took that are no actions.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_ACTIONS: Final = _METER.create_histogram(
    "tenure_action_duration_seconds",
    description="How long each action of cycles took.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
_STOPPED: Final = _METER.create_counter(
    "tenure_cycles_stopped_early_total",
    description="Cycles that answered with what they had because the caller's time was up.",
)
_CACHED_RESPONSES: Final = _METER.create_counter(
    "tenure_cached_responses_total",
    description="Answers about a state that had not changed, given without another cycle.",
)
_DECISIONS: Final = _METER.create_counter(
    "tenure_decisions_total",
    description="Steps of decisions, by action and kind.",
)
_ALLOWED_EVICTIONS: Final = _METER.create_counter(
    "tenure_guard_allowed_evictions_total",
    description="Evictions that a guard had a say in and let pass.",
)
_OUTCOMES: Final = _METER.create_counter(
    "tenure_pod_group_outcomes_total",
    description="Verdicts on pod groups that had pods to schedule; each cycle gives each of them one.",
)
_PENDING_REASONS: Final = _METER.create_counter(
    "tenure_pending_reasons_total",
    description="Why pod groups that had pods to schedule were not bound, once in each cycle.",
)
_SCENARIOS: Final = _METER.create_counter(
    "tenure_search_scenarios_total",
    description="Scenarios of the search for victims: simulated, known to fail, or ruled out before.",
)
_PLACEMENT_ATTEMPTS: Final = _METER.create_counter(
    "tenure_search_placement_attempts_total",
    description="Times the search looked for a node for a pod.",
)
_VICTIMS_CONSIDERED: Final = _METER.create_counter(
    "tenure_search_victims_considered_total",
    description="Victims the search took into scenarios.",
)


def count_cached_response() -> None:
    """Count an answer that was known from an earlier cycle."""
    _CACHED_RESPONSES.add(1)


def measure(timeline: Timeline) -> None:
    """Measure the phases of one cycle."""
    for entry in timeline.entries:
        taken = (entry.end - entry.begin) / SECOND
        if entry.phase is Phase.ACTION:
            _ACTIONS.record(taken, {"action": entry.name})
        elif entry.parent == NO_PARENT:
            _PHASES.record(taken, {"phase": entry.phase.value})
    _CYCLES.record((timeline.entries[-1].end - timeline.entries[0].begin) / SECOND)


def count(summary: CycleSummary) -> None:
    """Count what one cycle decided."""
    for (action, kind), number in summary.decisions.items():
        _DECISIONS.add(number, {"action": action, "kind": kind})
    for (guard, action), number in summary.allowed_evictions.items():
        _ALLOWED_EVICTIONS.add(number, {"guard": guard, "action": action})
    for outcome, number in summary.outcomes.items():
        _OUTCOMES.add(number, {"outcome": enum_label(pb.OutcomeKind, outcome)})
    for code, number in summary.pending_reasons.items():
        _PENDING_REASONS.add(number, {"reason": enum_label(pb.ReasonCode, code)})
    for result in ("simulated", "duplicate", "pruned"):
        _SCENARIOS.add(summary.counters[result], {"result": result})
    _PLACEMENT_ATTEMPTS.add(summary.counters["placement_attempts"])
    _VICTIMS_CONSIDERED.add(summary.counters["victims_considered"])
    _STOPPED.add(int(summary.stopped_early))


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
        """Write telemetry of one cycle. Threads wait for each other.

        An empty timeline means that the response was cached: its cycle was written about before.
        """
        if not timeline.entries:
            count_cached_response()
            return
        if isinstance(get_meter_provider(), MeterProvider):
            count(summary)
            measure(timeline)
            requeue_metrics.count(summary)
            LAST_CYCLES.update(summary)
        if timeline.is_detailed:
            uids = sorted(workloads.pod_groups) if self._names_workloads else ()
            cycle_spans.write(timeline, summary, uids)
        with self._one_writes:
            self._log.write(summary, workloads)
