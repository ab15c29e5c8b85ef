"""Earlier results of decisions, in the memory of this process, and the metric that counts results.

Without an OpenTelemetry SDK nothing is counted.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from opentelemetry import metrics
from tenure.server.shard import Shard
from tenure.v1 import report_pb2 as pb
from tenure.v1.report_pb2 import ApplyStatus
from tenure.wire.enum_labels import enum_label

MAX_RESULTS: Final = 100_000
"""Maximum number of remembered decisions; the least recently reported are forgotten first."""


class ReportConflict(Exception):
    """Different final results were reported before."""

    def __init__(self, decision_ids: list[str]) -> None:
        self.decision_ids = decision_ids
        super().__init__(", ".join(decision_ids))


class ReportedResult(NamedTuple):
    """One result to count."""

    decision_id: str
    kind: str
    """Kind of decision: "evict", ..."""
    result: pb.DecisionResult


class _LastResult(NamedTuple):
    """Last reported result of a decision."""

    result: int
    is_final: bool


class ReportHistory:
    """Detects new and conflicting results. Thread-safe."""

    def __init__(self, max_results: int = MAX_RESULTS) -> None:
        self._most = max_results
        self._last_results: OrderedDict[tuple[Shard, str], _LastResult] = OrderedDict()
        self._changing = threading.Lock()

    def add(self, shard: Shard, report: pb.GroupReport) -> list[ReportedResult]:
        """Remember and return the new results. Raises ReportConflict and remembers nothing then."""
        with self._changing:
            if conflicting := [each.decision_id for each in report.results if self._is_conflict(shard, each)]:
                raise ReportConflict(conflicting)
            return list(self._take(shard, report))

    def _take(self, shard: Shard, report: pb.GroupReport) -> Iterator[ReportedResult]:
        kinds = {each.id: each.WhichOneof("kind") or "unknown" for each in report.group.decisions}
        for step in report.results:
            key, before = (shard, step.decision_id), self._last_results.get((shard, step.decision_id))
            was_final = before is not None and before.is_final
            self._last_results[key] = _LastResult(step.status, was_final or _is_final_result(step))
            self._last_results.move_to_end(key)
            if before is None or before.result != step.status:
                yield ReportedResult(step.decision_id, kinds[step.decision_id], step)
        while len(self._last_results) > self._most:
            self._last_results.popitem(last=False)

    def _is_conflict(self, shard: Shard, step: pb.DecisionResult) -> bool:
        before = self._last_results.get((shard, step.decision_id))
        return before is not None and before.is_final and before.result != step.status


def _is_final_result(step: pb.DecisionResult) -> bool:
    return step.status != pb.APPLY_STATUS_FAILED or not step.retryable


_OUTCOMES: Final = metrics.get_meter("tenure.server").create_counter(
    "tenure_decision_results_total",
    description="Decisions by reported result.",
)


def count_results(facts: Iterable[ReportedResult]) -> None:
    """Count results by kind of decision."""
    for fact in facts:
        _OUTCOMES.add(1, {"kind": fact.kind, "status": enum_label(ApplyStatus, fact.result.status)})
