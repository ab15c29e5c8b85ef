"""Metrics: what cycles nominate, requeue and warn about, with the names and labels of the proposal.

Counted once per cycle. Labels come from finite sets: plugins of the profile and codes of the contract.
Without an OpenTelemetry SDK set up by the operator nothing is recorded.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from opentelemetry import metrics
from tenure.codec.encoded_response import CycleSummary, NominationSummary
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import WarningCode
from tenure.wire.enum_labels import enum_label

_METER: Final = metrics.get_meter("tenure.server")
_NOMINATED: Final = _METER.create_counter(
    "kai_scheduler_requeue_nominations_total",
    description="Pod groups nominated for a requeue because they ran longer than expected.",
)
_SKIPPED: Final = _METER.create_counter(
    "kai_scheduler_requeue_nomination_skipped_total",
    description="Pod groups that are expected to end and are left alone, by reason.",
)
_COMMITTED: Final = _METER.create_counter(
    "kai_scheduler_requeue_committed_total",
    description="Nominated pod groups that went back to their queue.",
)
_ROLLED_BACK: Final = _METER.create_counter(
    "kai_scheduler_requeue_rolled_back_total",
    description="Nominated pod groups that keep running because nobody who waits would fit in their place.",
)
_WARNING_CODES: Final = _METER.create_counter(
    "tenure_snapshot_warnings_total",
    description="Pod groups about which something in the snapshot was doubtful, by code.",
)


def initialize_counters() -> None:
    """Let every counter of the proposal exist before anything is counted, so that its growth can be seen.

    With every reason, and the one plugin of the default profile that nominates.
    """
    labels = {"plugin": "expectedruntime"}
    for counter in (_NOMINATED, _COMMITTED, _ROLLED_BACK):
        counter.add(0, labels)
    for value in pb.NominationSkipReason.values():
        if value:
            _SKIPPED.add(0, {**labels, "reason": enum_label(pb.NominationSkipReason, value)})


def count(summary: CycleSummary) -> None:
    """Count one cycle (semantics R12.62, R12.64): a pod group counts once for each plugin that looked at it.

    Who is not due counts nowhere. Who is nominated and then protected by its minimum runtime counts as
    nominated and, by the action, as skipped (semantics R12.49).
    """
    told = Counter(
        (counter, plugin, reason)
        for nomination in summary.nominations
        for counter, reason in _count_nomination(nomination)
        for plugin in nomination.plugins
    )
    for (counter, plugin, reason), number in told.items():
        why = {"reason": enum_label(pb.NominationSkipReason, reason)} if reason else {}
        counter.add(number, {"plugin": plugin, **why})
    for warning in summary.warnings:
        _WARNING_CODES.add(warning.total, {"code": enum_label(WarningCode, warning.code)})


def _count_nomination(nomination: NominationSummary) -> Iterator[tuple[metrics.Counter, int]]:
    """What is counted of a nomination, and why it was skipped."""
    if nomination.is_candidate:
        yield _NOMINATED, 0
    if nomination.skip_reason:
        yield _SKIPPED, nomination.skip_reason
    if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
        yield _COMMITTED, 0
    elif nomination.result == pb.NOMINATION_RESULT_NO_BENEFIT:
        yield _ROLLED_BACK, 0
