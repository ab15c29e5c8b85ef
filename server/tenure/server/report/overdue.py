"""Who ran longer than expected: what becomes of it, and when that may change."""

from typing import Final

from tenure.server.labels import label
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.words import clock, rough
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb

_SILENT: Final = {
    pb.NOMINATION_RESULT_NO_CONTENDER: "no pod group of higher priority waits",
    pb.NOMINATION_RESULT_NO_BENEFIT: "those that wait would not fit in its place",
    pb.NOMINATION_RESULT_BUDGET_EXHAUSTED: "the search budget ended first",
}
"""Why it keeps running, where the answer does not say more."""


def overdue(view: View) -> Section:
    """Pod groups beyond their expected runtime: those that are requeued first, then the most overdue."""
    late = sorted(filter(is_overdue, view.response.nominations), key=_requeued_then_latest)
    lines = [
        Line(
            (view.name(each.pod_group), lateness(each), fate(view, each)),
            (view.queue(each.pod_group), result_name(each)),
        )
        for each in late
    ]
    columns = (
        Column("Pod group", wraps=True),
        Column("By", right=True),
        Column("What becomes of it", wraps=True),
    )
    return Section("Ran longer than expected", columns, ("Queue", "Result"), lines)


def is_overdue(nomination: pb.Nomination) -> bool:
    """Whether its expected runtime is over: it was nominated, or was only not nominated for other reasons."""
    return bool(nomination.nominated_by) or nomination.HasField("overrun")


def lateness(nomination: pb.Nomination) -> str:
    """How far it is beyond its expected runtime."""
    return rough(nomination.overrun.ToNanoseconds())


def fate(view: View, nomination: pb.Nomination) -> str:
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
    return label(enum, value).replace("_", " ")


def _requeued(view: View, nomination: pb.Nomination) -> str:
    told = f"goes back to its queue for {view.name(nomination.contender)}"
    not_before = nomination.not_before.ToNanoseconds()
    return f"{told}, not again before {clock(not_before, view.now)}" if not_before > view.now else told


def _until(view: View, nomination: pb.Nomination) -> str:
    return clock(nomination.reason.until.ToNanoseconds(), view.now)


def _requeued_then_latest(nomination: pb.Nomination) -> tuple[bool, int]:
    is_requeued = nomination.result == pb.NOMINATION_RESULT_REQUEUED
    return not is_requeued, -nomination.overrun.ToNanoseconds()
