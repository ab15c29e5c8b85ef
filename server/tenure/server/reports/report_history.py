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
"""Maximum number of remembered decisions. The least recently reported of the shard with the most are
forgotten first, so that reports about one cluster replace none about another.
"""


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
        self._last_results: dict[Shard, OrderedDict[str, _LastResult]] = {}
        self._count = 0
        self._changing = threading.Lock()

    def add(self, shard: Shard, report: pb.GroupReport) -> list[ReportedResult]:
        """Remember and return the new results. Raises ReportConflict and remembers nothing then."""
        with self._changing:
            if conflicting := [each.decision_id for each in report.results if self._is_conflict(shard, each)]:
                raise ReportConflict(conflicting)
            return list(self._take(shard, report))

    def _take(self, shard: Shard, report: pb.GroupReport) -> Iterator[ReportedResult]:
        kinds = {each.id: each.WhichOneof("kind") or "unknown" for each in report.group.decisions}
        known = self._last_results.get(shard, OrderedDict())
        for step in report.results:
            before = known.get(step.decision_id)
            was_final = before is not None and before.is_final
            known[step.decision_id] = _LastResult(step.status, was_final or _is_final_result(step))
            known.move_to_end(step.decision_id)
            self._count += before is None
            if before is None or before.result != step.status:
                yield ReportedResult(step.decision_id, kinds[step.decision_id], step)
        if known:
            self._last_results[shard] = known
        while self._count > self._most:
            self._forget(self._count - self._most)

    def _forget(self, count: int) -> None:
        """Forget this many decisions of the shard with the most, or all of it."""
        shard, known = max(self._last_results.items(), key=lambda item: len(item[1]))
        for _ in range(min(count, len(known))):
            known.popitem(last=False)
            self._count -= 1
        if not known:
            del self._last_results[shard]

    def _is_conflict(self, shard: Shard, step: pb.DecisionResult) -> bool:
        known = self._last_results.get(shard)
        before = None if known is None else known.get(step.decision_id)
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
