"""What operators see of cycles: spans, metrics and lines, written when a cycle is over.

Metrics of cycles: how long they took, what they decided, why the rest waits, what the search did.

Counted once per cycle. Labels come from finite sets: actions and plugins of the profile, codes of the
contract. Without an SDK set up nothing is recorded.
"""

import threading
from collections import Counter
from typing import Final

from opentelemetry import metrics
from opentelemetry.metrics import get_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from tenure.render.response_view import ResponseView
from tenure.server.telemetry import cycle_spans, requeue_metrics
from tenure.server.telemetry.cycle_log import CycleLog
from tenure.server.telemetry.gauges import LAST_CYCLES, SECONDS
from tenure.server.telemetry.timeline import NO_PARENT, Timeline
from tenure.solver.framework.observer import Phase
from tenure.terms.durations import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
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


def count(response: DecideResponse) -> None:
    """Count what one cycle decided."""
    _count_decisions(response)
    _count_outcomes(response)
    work = response.counters
    for result in ("simulated", "duplicate", "pruned"):
        _SCENARIOS.add(getattr(work, result), {"result": result})
    _PLACEMENT_ATTEMPTS.add(work.placement_attempts)
    _VICTIMS_CONSIDERED.add(work.victims_considered)
    _STOPPED.add(int(response.stopped_early))


def _count_decisions(response: DecideResponse) -> None:
    steps: Counter[tuple[str, str]] = Counter()
    guards: Counter[tuple[str, str]] = Counter()
    for group in response.groups:
        steps.update((group.action, step.WhichOneof("kind") or "other") for step in group.decisions)
        guards.update((said.guard, group.action) for step in group.decisions for said in step.evict.guards)
    for (action, kind), number in steps.items():
        _DECISIONS.add(number, {"action": action, "kind": kind})
    for (guard, action), number in guards.items():
        _ALLOWED_EVICTIONS.add(number, {"guard": guard, "action": action})


def _count_outcomes(response: DecideResponse) -> None:
    outcomes = Counter(outcome.kind for outcome in response.outcomes)
    for kind, number in outcomes.items():
        _OUTCOMES.add(number, {"outcome": enum_label(pb.OutcomeKind, kind)})
    reasons = Counter(each.reason.code for each in response.outcomes if each.kind != pb.OUTCOME_KIND_BOUND)
    for code, number in reasons.items():
        _PENDING_REASONS.add(number, {"reason": enum_label(pb.ReasonCode, code)})


class Cycles:
    """Writes about one cycle after the other. Nothing of it changes an answer."""

    def __init__(self, *, include_workload_names: bool = False) -> None:
        self._names_workloads = include_workload_names
        self._log = CycleLog()
        self._one_writes = threading.Lock()

    def timeline(self) -> Timeline:
        """For the cycle that comes: with a close look at it when spans of the call are kept."""
        return Timeline(is_detailed=cycle_spans.is_recording())

    def write(self, view: ResponseView, timeline: Timeline) -> None:
        """Write about one cycle. Threads wait for each other.

        When nothing happened, the answer is that of an earlier cycle, which was written about.
        """
        answer = view.response
        if not timeline.entries:
            count_cached_response()
            return
        if isinstance(get_meter_provider(), MeterProvider):
            count(answer)
            measure(timeline)
            requeue_metrics.count(answer)
            LAST_CYCLES.update(answer)
        if timeline.is_detailed:
            uids = sorted(view.pod_groups) if self._names_workloads else ()
            cycle_spans.write(timeline, answer, uids)
        with self._one_writes:
            self._log.write(view)
