"""Pod groups as a table for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.server.report.overdue import is_overdue, lateness, result_name
from tenure.server.report.protected import from_whom
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.wake import print_wake
from tenure.server.report.words import clock, count, rough
from tenure.server.report.workloads import LEGACY, Workload
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb

NOTE = "Pods: running/waiting/minimum. ! legacy: nothing says how preemptible it is, so its priority decides."


def print_workloads(console: Console, view: View, workloads: Sequence[Workload]) -> None:
    """Prints how many there are, one line for each, and when time may change any of it."""
    console.print(Text(_headline(view, workloads), style="bold"), "\n", sep="")
    _section(view, workloads).print(console)
    print_wake(console, view)


def _headline(view: View, workloads: Sequence[Workload]) -> str:
    running = sum(1 for workload in workloads if workload.running)
    legacy = sum(workload.preemptibility_source == LEGACY for workload in workloads)
    told = f"{count(len(workloads), 'pod group')}, {running:,} of them running"
    by_rule = f"; for {legacy:,} the legacy rule decides whether they are preemptible" if legacy else ""
    return f"At {clock(view.now, view.now)}: {told}{by_rule}."


def _section(view: View, workloads: Sequence[Workload]) -> Section:
    lines = [Line(_cells(view, workload), _kind(workload)) for workload in workloads]
    columns = (
        Column("Pod group, queue", wraps=True),
        Column("Priority", right=True),
        Column("Preemptibility", bold=True),
        Column("Pods", right=True),
        Column("Protected", wraps=True),
        Column("Runs for", wraps=True),
    )
    return Section("Workloads", columns, ("Queue", "Preemptibility", "Said by"), lines, NOTE)


def _kind(workload: Workload) -> tuple[str, str, str]:
    return workload.group.queue_name, workload.preemptibility, workload.preemptibility_source


def _cells(view: View, workload: Workload) -> tuple[str, ...]:
    return (
        _who(workload),
        str(workload.group.priority),
        f"{workload.preemptibility}\n{_said_by(workload)}",
        f"{workload.running}/{workload.pending}/{workload.minimum}",
        _protected(view, workload),
        _runtime(view, workload),
    )


def _who(workload: Workload) -> str:
    group = workload.group
    name = f"{group.namespace}/{group.name}" if group.namespace else group.name
    return f"{name}\n{group.queue_name}"


def _said_by(workload: Workload) -> str:
    if workload.group.unknown_preemptibility:
        return "! unknown value"
    source = workload.preemptibility_source
    return f"! {source}" if source == LEGACY else source


def _protected(view: View, workload: Workload) -> str:
    """The protection that ends first, and how many others there are."""
    if not workload.running:
        return ""
    if not workload.protections:
        return "not protected"
    first, *others = workload.protections
    more = f"; and {len(others)} more" if others else ""
    return f"{_protection(view, first)}{more}"


def _protection(view: View, protection: pb.Protection) -> str:
    part = "its minimum only, " if protection.scope == pb.PROTECTION_SCOPE_CORE else ""
    how_long, whom = _how_long(view, protection), from_whom(view, protection)
    if whom == "everyone" and protection.guard == "preemptibility":
        return f"{part}{how_long}"  # Who says so stands in the column before.
    against = "" if whom == "everyone" else f", from {whom}"
    return f"{part}{how_long}{against} ({protection.source or protection.guard})"


def _how_long(view: View, protection: pb.Protection) -> str:
    if not protection.HasField("until"):
        return "as long as it runs"
    return f"until {clock(protection.until.ToNanoseconds(), view.now)}"


def _runtime(view: View, workload: Workload) -> str:
    """How long it runs, of how long it is expected to, and what became of that."""
    told, expected = _age(workload), workload.expected.value
    if expected is not None:
        told += f" of {rough(expected)}" if _has_age(workload) else f", expected {rough(expected)}"
    becomes = _becomes(view, workload.nomination)
    return f"{told}; {becomes}" if becomes else told


def _age(workload: Workload) -> str:
    if not workload.running:
        return "waits" if workload.pending else "-"
    if workload.runs_for is None:
        return "start unknown"
    return rough(workload.runs_for) if _has_age(workload) else "starts later"


def _has_age(workload: Workload) -> bool:
    return workload.runs_for is not None and workload.runs_for >= 0


def _becomes(view: View, nomination: pb.Nomination | None) -> str:
    if nomination is None or nomination.skip_reason == pb.NOMINATION_SKIP_REASON_NOT_RUNNING:
        return ""
    if nomination.result == pb.NOMINATION_RESULT_NOT_DUE:
        end = nomination.reason.until.ToNanoseconds()
        return f"due in {rough(end - view.now)}, at {clock(end, view.now)}"
    late = f"overdue by {lateness(nomination)}" if is_overdue(nomination) else "not requeued"
    return f"{late}: {_result(view, nomination)}"


def _result(view: View, nomination: pb.Nomination) -> str:
    """Shortly; the report of a decision has it in full."""
    if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
        return f"requeued for {view.name(nomination.contender)}"
    if nomination.reason.HasField("until"):
        until = nomination.reason.until.ToNanoseconds()
        return f"{result_name(nomination)} until {clock(until, view.now)}"
    return result_name(nomination)
