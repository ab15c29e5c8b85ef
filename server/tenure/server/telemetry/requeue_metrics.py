"""Metrics of requeue nominations and snapshot warnings, with the names and labels of the proposal.

Counted once per cycle. Labels come from finite sets: plugins of the profile and codes of the contract.
Without an OpenTelemetry SDK nothing is recorded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from opentelemetry import metrics
from tenure.codec.encoded_response import CycleSummary, NominationSummary
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import WarningCode
from tenure.wire.enum_labels import enum_label

_METER: Final = metrics.get_meter("tenure.server")
_NOMINATED: Final = _METER.create_counter(
    "kai_scheduler_requeue_nominations_total",
    description="Pod groups nominated for requeue, semi-preemptible ones included.",
)
_SURPLUS_NOMINATED: Final = _METER.create_counter(
    "tenure_requeue_surplus_nominations_total",
    description="Of the nominated pod groups, semi-preemptible ones: their pods beyond the minimum.",
)
_SKIPPED: Final = _METER.create_counter(
    "kai_scheduler_requeue_nomination_skipped_total",
    description="Pod groups that a plugin skipped, or that their minimum runtime protects, by reason.",
)
_COMMITTED: Final = _METER.create_counter(
    "kai_scheduler_requeue_committed_total",
    description="Nominated pod groups that were requeued.",
)
_ROLLED_BACK: Final = _METER.create_counter(
    "kai_scheduler_requeue_rolled_back_total",
    description="Nominated pod groups that keep running because no contender fits in their place.",
)
_WARNING_CODES: Final = _METER.create_counter(
    "tenure_snapshot_warnings_total",
    description="Pod groups with snapshot warnings, by code.",
)


_WITHOUT: Final = {"plugin": "expectedruntime", "reason": "invalid_duration"}
"""Labels of pod groups without an expected runtime."""


def initialize_counters(plugins: Iterable[str]) -> None:
    """Create the counters of the proposal at zero, so that their first increase is visible.

    With every reason, for the nominating plugins of the profile.
    """
    for plugin in plugins:
        labels = {"plugin": plugin}
        for counter in (_NOMINATED, _SURPLUS_NOMINATED, _COMMITTED, _ROLLED_BACK):
            counter.add(0, labels)
        for value in pb.NominationSkipReason.values():
            if value:
                _SKIPPED.add(0, {**labels, "reason": enum_label(pb.NominationSkipReason, value)})


def count(summary: CycleSummary) -> None:
    """Count one cycle (semantics R12.62, R12.64): a pod group counts once for each plugin that evaluated it.

    A plugin that skips a pod group counts that, whatever other plugins say. Pod groups that are not due are
    not counted. One that its minimum runtime protects counts as skipped only (semantics R12.49). Running pod
    groups without an expected runtime count as skipped with an invalid one, if `expectedruntime` nominates.
    """
    counts = Counter(
        counted for nomination in summary.nominations for counted in _count_nomination(nomination)
    )
    for (counter, plugin, reason), number in counts.items():
        why = {"reason": enum_label(pb.NominationSkipReason, reason)} if reason else {}
        counter.add(number, {"plugin": plugin, **why})
    if summary.without_expected_runtime:
        _SKIPPED.add(summary.without_expected_runtime, _WITHOUT)
    for warning in summary.warnings:
        _WARNING_CODES.add(warning.total, {"code": enum_label(WarningCode, warning.code)})


def _count_nomination(nomination: NominationSummary) -> Iterator[tuple[metrics.Counter, str, int]]:
    """Counters of a nomination with their plugin, and why that or the action skipped it; 0: it did not."""
    for plugin, reason, _ in nomination.skips:
        yield _SKIPPED, plugin, reason
    for plugin in nomination.plugins if nomination.is_candidate else ():
        if nomination.skip_reason:
            yield _SKIPPED, plugin, nomination.skip_reason
            continue
        yield _NOMINATED, plugin, 0
        if nomination.surplus_only:
            yield _SURPLUS_NOMINATED, plugin, 0
        if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
            yield _COMMITTED, plugin, 0
        elif nomination.result == pb.NOMINATION_RESULT_NO_BENEFIT:
            yield _ROLLED_BACK, plugin, 0
