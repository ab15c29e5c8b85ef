"""Metrics of cycles: how long they took, what they decided, why the rest waits, what the search did.

Counted once per cycle. Labels come from finite sets: actions and plugins of the profile, codes of the
contract. Without an SDK set up nothing is recorded.
"""

from collections import Counter
from typing import Final

from opentelemetry import metrics
from tenure.server.labels import label
from tenure.server.telemetry.buckets import SECONDS
from tenure.server.telemetry.timeline import NO_PARENT, Timeline
from tenure.solver.framework.observer import Part
from tenure.solver.model.duration import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse

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
_AGAIN: Final = _METER.create_counter(
    "tenure_answers_given_again_total",
    description="Answers about a state that had not changed, given without another cycle.",
)
_STEPS: Final = _METER.create_counter(
    "tenure_decisions_total",
    description="Steps of decisions, by action and kind.",
)
_PASSED: Final = _METER.create_counter(
    "tenure_guard_passed_total",
    description="Evictions that a guard had a say in and let pass.",
)
_OUTCOMES: Final = _METER.create_counter(
    "tenure_outcomes_total",
    description="Verdicts on pod groups that had pods to schedule; each cycle gives each of them one.",
)
_WAITING: Final = _METER.create_counter(
    "tenure_waiting_reasons_total",
    description="Why pod groups that had pods to schedule were not bound, once in each cycle.",
)
_SCENARIOS: Final = _METER.create_counter(
    "tenure_search_scenarios_total",
    description="Scenarios of the search for victims: simulated, known to fail, or ruled out before.",
)
_PLACEMENTS: Final = _METER.create_counter(
    "tenure_search_placements_total",
    description="Times the search looked for a node for a pod.",
)
_VICTIMS: Final = _METER.create_counter(
    "tenure_search_victims_total",
    description="Victims the search took into scenarios.",
)


def count_again() -> None:
    """Count an answer that was known from an earlier cycle."""
    _AGAIN.add(1)


def measure(timeline: Timeline) -> None:
    """Measure the phases of one cycle."""
    for entry in timeline.entries:
        taken = (entry.end - entry.begin) / SECOND
        if entry.part is Part.ACTION:
            _ACTIONS.record(taken, {"action": entry.name})
        elif entry.parent == NO_PARENT:
            _PHASES.record(taken, {"phase": entry.part.value})
    _CYCLES.record((timeline.entries[-1].end - timeline.entries[0].begin) / SECOND)


def count(response: DecideResponse) -> None:
    """Count what one cycle decided."""
    _count_steps(response)
    _count_outcomes(response)
    work = response.counters
    for result in ("simulated", "duplicate", "pruned"):
        _SCENARIOS.add(getattr(work, result), {"result": result})
    _PLACEMENTS.add(work.placements)
    _VICTIMS.add(work.victims_popped)
    _STOPPED.add(int(response.stopped_early))


def _count_steps(response: DecideResponse) -> None:
    steps: Counter[tuple[str, str]] = Counter()
    guards: Counter[tuple[str, str]] = Counter()
    for group in response.groups:
        steps.update((group.action, step.WhichOneof("step") or "other") for step in group.decisions)
        guards.update((said.guard, group.action) for step in group.decisions for said in step.evict.guards)
    for (action, kind), number in steps.items():
        _STEPS.add(number, {"action": action, "kind": kind})
    for (guard, action), number in guards.items():
        _PASSED.add(number, {"guard": guard, "action": action})


def _count_outcomes(response: DecideResponse) -> None:
    outcomes = Counter(outcome.kind for outcome in response.outcomes)
    for kind, number in outcomes.items():
        _OUTCOMES.add(number, {"outcome": label(pb.OutcomeKind, kind)})
    reasons = Counter(each.reason.code for each in response.outcomes if each.kind != pb.OUTCOME_KIND_BOUND)
    for code, number in reasons.items():
        _WAITING.add(number, {"reason": label(pb.ReasonCode, code)})
