"""Who ran longer than expected: what becomes of it, and when that may change."""

from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_clock, format_rough
from tenure.v1 import decision_pb2 as pb
from tenure.wire.enum_labels import enum_label

_SILENT: Final = {
    pb.NOMINATION_RESULT_NO_CONTENDER: "no pending pod group has higher priority",
    pb.NOMINATION_RESULT_NO_BENEFIT: "no contender fits in its place",
    pb.NOMINATION_RESULT_BUDGET_EXHAUSTED: "the search budget was exhausted",
}
"""Why it keeps running, where the answer does not say more."""


def render_overdue(view: ResponseView) -> TableSection:
    """Pod groups beyond their expected runtime: those that are requeued first, then the most overdue."""
    late = sorted(filter(is_overdue, view.response.nominations), key=_requeued_then_latest)
    lines = [
        TableRow(
            (view.name(each.pod_group), lateness(each), result_text(view, each)),
            (view.queue(each.pod_group), result_name(each)),
        )
        for each in late
    ]
    columns = (
        TableColumn("Pod group", wraps=True),
        TableColumn("Overrun", right=True),
        TableColumn("Result", wraps=True),
    )
    return TableSection("Past expected runtime", columns, ("Queue", "Result"), lines)


def is_overdue(nomination: pb.Nomination) -> bool:
    """Whether its expected runtime is over: it was nominated, or was only not nominated for other reasons."""
    return bool(nomination.nominated_by) or nomination.HasField("overrun")


def lateness(nomination: pb.Nomination) -> str:
    """How far it is beyond its expected runtime."""
    return format_rough(nomination.overrun.ToNanoseconds())


def result_text(view: ResponseView, nomination: pb.Nomination) -> str:
    """What becomes of it: requeued for whom, or why not and when time may change that."""
    if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
        return _requeued(view, nomination)
    if nomination.skip_reason == pb.NOMINATION_SKIP_REASON_COOLDOWN:
        return f"keeps running: cooldown until {_until(view, nomination)}"
    why = view.detail(nomination) or _SILENT.get(nomination.result, "")
    if nomination.result == pb.NOMINATION_RESULT_ALREADY_MOVED:
        return why
    change = f"; may change at {_until(view, nomination)}" if nomination.reason.HasField("until") else ""
    return f"keeps running{': ' if why else ''}{why}{change}"


def result_name(nomination: pb.Nomination) -> str:
    """The result in words; of a skip its reason."""
    skipped = nomination.result == pb.NOMINATION_RESULT_SKIPPED
    enum, value = (
        (pb.NominationSkipReason, nomination.skip_reason)
        if skipped
        else (pb.NominationResult, nomination.result)
    )
    return enum_label(enum, value).replace("_", " ")


def _requeued(view: ResponseView, nomination: pb.Nomination) -> str:
    told = f"requeued for {view.name(nomination.contender)}"
    not_before = nomination.not_before.ToNanoseconds()
    return f"{told}, not again before {format_clock(not_before, view.now)}" if not_before > view.now else told


def _until(view: ResponseView, nomination: pb.Nomination) -> str:
    return format_clock(nomination.reason.until.ToNanoseconds(), view.now)


def _requeued_then_latest(nomination: pb.Nomination) -> tuple[bool, int]:
    is_requeued = nomination.result == pb.NOMINATION_RESULT_REQUEUED
    return not is_requeued, -nomination.overrun.ToNanoseconds()
