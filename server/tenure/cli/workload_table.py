"""Output of `tenure workloads`: a table, or JSON with the keys that its help lists. Keys are only added."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.text import Text
from tenure.cli.workload_rows import WorkloadRow
from tenure.render.notices import StandingNotice, notice_text
from tenure.render.overdue import is_overdue, overrun_text, result_name
from tenure.render.protected import preemptor_text, rank_text
from tenure.render.response_view import ResponseView
from tenure.render.sections import print_wake
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.render.workload import mode_label
from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_clock, format_count, format_remaining, format_rough
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import VictimRank
from tenure.v1.snapshot_pb2 import Certainty, HoldReason
from tenure.wire.enum_labels import enum_label
from tenure.wire.timestamps import timestamp

Facts = dict[str, object]


def workloads_json(view: ResponseView, workloads: Sequence[WorkloadRow]) -> str:
    """JSON with the snapshot time, the next wake time and one object for each pod group."""
    response = view.response
    document = {
        "now": _time(view.snapshot.now),
        "next_wake_time": _time(response.next_wake_time) if response.HasField("next_wake_time") else None,
        "workloads": [_facts(workload) for workload in workloads],
    }
    return json.dumps(document, indent=2)


def _facts(workload: WorkloadRow) -> Facts:
    group, status = workload.group, workload.status
    return {
        "uid": group.uid,
        "name": workload.name,
        "namespace": group.namespace,
        "queue": group.queue,
        "priority": group.priority,
        "preemptibility": workload.preemptibility,
        "preemptibility_source": workload.preemptibility_source,
        "preemptibility_problem": status.preemptibility_problem,
        "preemptibility_requested": mode_label(status.requested_preemptibility) or None,
        "not_in_force": status.not_in_force,
        "pods_running": workload.running,
        "pods_pending": workload.waiting,
        "pods_minimum": workload.minimum,
        "state": workload.state.value,
        "held_by": enum_label(HoldReason, status.held_by) if status.held_by else None,
        "not_before": _time(status.not_before_time) if status.HasField("not_before_time") else None,
        "runs_for_seconds": _seconds(workload.runs_for),
        "is_protected": bool(workload.protections),
        "protections": [_protection_fields(protection) for protection in workload.protections],
        "expected_runtime_seconds": _seconds(workload.expected_runtime),
        "expected_runtime_source": status.expected_runtime_source,
        "expected_end": _time(status.expected_end) if status.HasField("expected_end") else None,
        "expected_end_certainty": enum_label(Certainty, status.expected_end_certainty),
        "latest_end": _time(status.latest_end) if status.HasField("latest_end") else None,
        "disruption_budgets": [{"name": name, "left": left} for name, left in workload.budgets.items()],
        "requeue": None if workload.nomination is None else _requeue(workload.nomination),
        "notices": [_notice_fields(workload, each, pods) for each, pods in workload.notices.items()],
        "as_victim": None if workload.rank is None else _rank_fields(workload.rank),
    }


def _protection_fields(protection: pb.Protection) -> Facts:
    return {
        "guard": protection.guard,
        "actions": list(protection.actions),
        "against": protection.against,
        "against_pod_group": protection.against_pod_group,
        "scope": enum_label(pb.ProtectionScope, protection.scope),
        "until": _time(protection.until) if protection.HasField("until") else None,
        "source": protection.source,
    }


def _notice_fields(workload: WorkloadRow, notice: StandingNotice, pods: int) -> Facts:
    group = workload.group
    is_earlier = group.HasField("last_notice_time") and not notice.is_new
    return {
        "pods": pods,
        "action": notice.action,
        "pod_group": notice.beneficiary,
        "evict_time": _time(timestamp(notice.evict_time)),
        "given_time": _time(group.last_notice_time) if is_earlier else None,
    }


def _rank_fields(rank: VictimRank) -> Facts:
    return {
        "place": rank.place or None,
        "cost_gpu_seconds": rank.cost if rank.HasField("cost") else None,
        "lost_gpu_seconds": rank.lost if rank.HasField("lost") else None,
        "next_for": [
            {"action": taker.action, "queue": taker.queue, "pod_group": taker.pod_group}
            for taker in rank.next_for
        ],
    }


def _requeue(nomination: pb.Nomination) -> Facts:
    reason = nomination.skip_reason
    until = nomination.reason.until if nomination.reason.HasField("until") else None
    return {
        "result": enum_label(pb.NominationResult, nomination.result),
        "skip_reason": enum_label(pb.NominationSkipReason, reason) if reason else None,
        "detail": nomination.reason.message,
        "nominated_by": list(nomination.nominated_by),
        "overrun_seconds": _seconds(nomination.overrun.ToNanoseconds()),
        "until": None if until is None else _time(until),
        "contender": nomination.contender or None,
        "not_before": _time(nomination.not_before) if nomination.HasField("not_before") else None,
    }


def _seconds(nanoseconds: int | None) -> int | None:
    """Seconds, rounded down."""
    return None if nanoseconds is None else nanoseconds // SECOND


def _time(moment: Timestamp) -> str:
    """RFC 3339."""
    return moment.ToJsonString()


NOTE = "Pods: running/pending/minimum. ! priority: preemptibility is not set; derived from priority."
_PRIORITY: Final = "priority"


def print_workloads(console: Console, view: ResponseView, workloads: Sequence[WorkloadRow]) -> None:
    """Print a headline, one row for each pod group, and the next wake time."""
    console.print(Text(_headline(view, workloads), style="bold"), "\n", sep="")
    _section(view, workloads).print(console)
    print_wake(console, view)


def _headline(view: ResponseView, workloads: Sequence[WorkloadRow]) -> str:
    running = sum(1 for workload in workloads if workload.running)
    legacy = sum(workload.preemptibility_source == _PRIORITY for workload in workloads)
    text = f"{format_count(len(workloads), 'pod group')}, {running:,} running"
    derived = f"; preemptibility of {legacy:,} derived from priority" if legacy else ""
    return f"{format_clock(view.now, view.now)}: {text}{derived}."


def _section(view: ResponseView, workloads: Sequence[WorkloadRow]) -> TableSection:
    rows = [TableRow(_cells(view, workload), _kind(workload)) for workload in workloads]
    columns = (
        TableColumn("Pod group, queue", wraps=True),
        TableColumn("Priority", right=True),
        TableColumn("Preemptibility", bold=True),
        TableColumn("Pods", right=True),
        TableColumn("Protected", wraps=True),
        TableColumn("Runtime", wraps=True),
    )
    return TableSection("Workloads", columns, ("Queue", "Preemptibility", "Source"), rows, NOTE)


def _kind(workload: WorkloadRow) -> tuple[str, str, str]:
    return workload.group.queue, workload.preemptibility, workload.preemptibility_source


def _cells(view: ResponseView, workload: WorkloadRow) -> tuple[str, ...]:
    return (
        _name_text(workload),
        str(workload.group.priority),
        f"{workload.preemptibility}\n{_source_text(workload)}",
        f"{workload.running}/{workload.waiting}/{workload.minimum}",
        "\n".join(
            filter(
                None,
                (
                    *_notices(view, workload),
                    workload.request_text,
                    _protected(view, workload),
                    rank_text(workload.rank),
                ),
            )
        ),
        _runtime(view, workload),
    )


def _name_text(workload: WorkloadRow) -> str:
    group = workload.group
    name = f"{group.namespace}/{workload.name}" if group.namespace else workload.name
    return f"{name}\n{group.queue}"


def _source_text(workload: WorkloadRow) -> str:
    if workload.status.preemptibility_problem:
        return "! unknown value"
    source = workload.preemptibility_source
    return f"! {source}" if source == _PRIORITY else source


def _protected(view: ResponseView, workload: WorkloadRow) -> str:
    """The protection that ends first, and the number of others."""
    if not workload.running:
        return ""
    held = _held_by_budgets(workload)
    if not workload.protections:
        return held or "not protected"
    first, *others = workload.protections
    more = f"; and {len(others)} more" if others else ""
    return f"{_protection(view, first)}{more}" + (f"; {held}" if held else "")


def _notices(view: ResponseView, workload: WorkloadRow) -> Iterator[str]:
    """Notices of eviction: `notice: 2 pods evicted at 10:42 UTC (in 7m) for NAME by preempt`."""
    for notice, pods in workload.notices.items():
        number = "" if pods == workload.running else f"{format_count(pods, 'pod')} "
        yield f"notice: {number}{notice_text(view, notice)}"


def _held_by_budgets(workload: WorkloadRow) -> str:
    """Disruption budgets that allow no disruption of its pods."""
    held = [name for name, left in workload.budgets.items() if not left]
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    return f"disruption budget {held[0]}{more} is used up" if held else ""


def _protection(view: ResponseView, protection: pb.Protection) -> str:
    part = ", minimum only" if protection.scope == pb.PROTECTION_SCOPE_CORE else ""
    until, preemptors = _until_text(view, protection), preemptor_text(view, protection)
    if preemptors == "all" and protection.guard == "preemptibility":
        return f"{until}{part}"  # The column "Preemptibility" has the source.
    against = "" if preemptors == "all" else f", from {preemptors}"
    return f"{until}{part}{against} ({protection.source or protection.guard})"


def _until_text(view: ResponseView, protection: pb.Protection) -> str:
    if not protection.HasField("until"):
        return "while running"
    return f"until {format_clock(protection.until.ToNanoseconds(), view.now)}"


def _runtime(view: ResponseView, workload: WorkloadRow) -> str:
    """Time since the last start, expected runtime, and the result of requeue nomination."""
    text, expected = _age(workload), workload.expected_runtime
    if expected is not None:
        text += (
            f" of {format_rough(expected)}" if _has_age(workload) else f", expected {format_rough(expected)}"
        )
    result = _result_text(view, workload.nomination)
    return f"{text}; {result}" if result else text


def _age(workload: WorkloadRow) -> str:
    if not workload.running:
        return "pending" if workload.waiting else "-"
    if workload.runs_for is None:
        return "start time missing"
    return format_rough(workload.runs_for) if _has_age(workload) else "starts in the future"


def _has_age(workload: WorkloadRow) -> bool:
    return workload.runs_for is not None and workload.runs_for >= 0


def _result_text(view: ResponseView, nomination: pb.Nomination | None) -> str:
    if nomination is None or nomination.skip_reason == pb.NOMINATION_SKIP_REASON_NOT_RUNNING:
        return ""
    if nomination.result == pb.NOMINATION_RESULT_NOT_DUE:
        end = nomination.reason.until.ToNanoseconds()
        return f"due at {format_remaining(end, view.now)}"
    overrun = f"overrun {overrun_text(nomination)}" if is_overdue(nomination) else "not requeued"
    return f"{overrun}: {_result(view, nomination)}"


def _result(view: ResponseView, nomination: pb.Nomination) -> str:
    """Result of a nomination; `tenure decide` prints it with its detail."""
    if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
        return f"requeued for {view.name(nomination.contender)}"
    if nomination.reason.HasField("until"):
        until = nomination.reason.until.ToNanoseconds()
        return f"{result_name(nomination)} until {format_clock(until, view.now)}"
    is_excluded = nomination.skip_reason == pb.NOMINATION_SKIP_REASON_NOT_PREEMPTIBLE
    return (is_excluded and nomination.reason.detail.rstrip(".")) or result_name(nomination)
