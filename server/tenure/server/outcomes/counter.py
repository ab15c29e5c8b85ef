"""Metric: what became of decisions. Without an SDK set up nothing is counted."""

from collections.abc import Iterable
from typing import Final

from opentelemetry import metrics
from tenure.server.labels import label
from tenure.server.outcomes.reported import Fact
from tenure.v1.outcome_pb2 import StepResult

_OUTCOMES: Final = metrics.get_meter("tenure.server").create_counter(
    "tenure_decision_outcomes_total",
    description="Steps of decisions by what callers reported of them.",
)


def count_outcomes(facts: Iterable[Fact]) -> None:
    """Count results by kind of step."""
    for fact in facts:
        _OUTCOMES.add(1, {"step": fact.step, "result": label(StepResult, fact.report.result)})
