"""Section of the report: pod groups past their expected runtime, and what was decided about them."""

from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_clock, format_rough
from tenure.v1 import decision_pb2 as pb
from tenure.wire.enum_labels import enum_label

_DETAILS: Final = {
    pb.NOMINATION_RESULT_NO_CONTENDER: "no pending pod group has higher priority",
    pb.NOMINATION_RESULT_NO_BENEFIT: "no contender fits in its place",
    pb.NOMINATION_RESULT_BUDGET_EXHAUSTED: "the search budget was exhausted",
}
"""Details of results that have none of their own."""


def render_overdue(view: ResponseView) -> TableSection:
    """Pod groups past their expected runtime; requeued ones first, then by falling overrun."""
    late = sorted(filter(is_overdue, view.response.nominations), key=_requeued_then_latest)
    rows = [
        TableRow(
            (view.name(each.pod_group), overrun_text(each), result_text(view, each) + _scope(each)),
            (view.queue(each.pod_group), result_name(each)),
        )
        for each in late
    ]
    columns = (
        TableColumn("Pod group", wraps=True),
        TableColumn("Overrun", right=True),
        TableColumn("Result", wraps=True),
    )
    return TableSection("Past expected runtime", columns, ("Queue", "Result"), rows)


def is_overdue(nomination: pb.Nomination) -> bool:
    """Whether the pod group is past its expected runtime, nominated or not."""
    return bool(nomination.nominated_by) or nomination.HasField("overrun")


def overrun_text(nomination: pb.Nomination) -> str:
    """Time since the expected end."""
    return format_rough(nomination.overrun.ToNanoseconds())


def result_text(view: ResponseView, nomination: pb.Nomination) -> str:
    """Requeued and for which contender, or why not and when that may change."""
    if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
        return _requeued(view, nomination)
    if nomination.skip_reason == pb.NOMINATION_SKIP_REASON_COOLDOWN:
        return f"keeps running: cooldown until {_until(view, nomination)}"
    detail = nomination.reason.detail or _DETAILS.get(nomination.result, "")
    if nomination.result == pb.NOMINATION_RESULT_ALREADY_MOVED:
        return detail
    change = f"; may change at {_until(view, nomination)}" if nomination.reason.HasField("until") else ""
    return f"keeps running{': ' if detail else ''}{detail}{change}"


def _scope(nomination: pb.Nomination) -> str:
    return " (only pods beyond its minimum)" if nomination.surplus_only and nomination.nominated_by else ""


def result_name(nomination: pb.Nomination) -> str:
    """Result in words; for a skipped nomination the reason."""
    skipped = nomination.result == pb.NOMINATION_RESULT_SKIPPED
    enum, value = (
        (pb.NominationSkipReason, nomination.skip_reason)
        if skipped
        else (pb.NominationResult, nomination.result)
    )
    return enum_label(enum, value).replace("_", " ")


def _requeued(view: ResponseView, nomination: pb.Nomination) -> str:
    text = f"requeued for {view.name(nomination.contender)}"
    not_before = nomination.not_before.ToNanoseconds()
    return f"{text}, not again before {format_clock(not_before, view.now)}" if not_before > view.now else text


def _until(view: ResponseView, nomination: pb.Nomination) -> str:
    return format_clock(nomination.reason.until.ToNanoseconds(), view.now)


def _requeued_then_latest(nomination: pb.Nomination) -> tuple[bool, int]:
    is_requeued = nomination.result == pb.NOMINATION_RESULT_REQUEUED
    return not is_requeued, -nomination.overrun.ToNanoseconds()
