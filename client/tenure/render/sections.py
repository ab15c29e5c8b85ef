"""What was doubtful in the snapshot, and how it was read.

Who starts, who waits, who yields to whom.

What happened, in one sentence.

When time alone may change the answer.

What became of groups that were accepted earlier and are not done.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_clock, format_count, format_remaining, join_words
from tenure.terms.reasons import REASONS
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import SnapshotWarning, WarningCode
from tenure.wire.enum_labels import enum_label

WAITING_KINDS: Final = (pb.OUTCOME_KIND_WAITING_FOR_VICTIMS, pb.OUTCOME_KIND_WAITING_FOR_RELEASE)
"""Outcomes of pod groups that have room which is not free yet."""


def render_scheduled(view: ResponseView) -> TableSection:
    """Pod groups whose pods are bound now."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for group, decision in view.decisions("bind"):
        nodes[group.beneficiary].append(decision.bind.node)
    lines = [
        TableRow(
            (view.name(uid), view.queue(uid), str(len(places)), _places(places)),
            (view.queue(uid),),
        )
        for uid, places in nodes.items()
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Pods", right=True),
        TableColumn("Node", wraps=True),
    )
    return TableSection("Scheduled", columns, ("Queue",), lines)


def render_waiting_for_capacity(view: ResponseView) -> TableSection:
    """Pod groups whose room is kept for them until others have left it."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    leaving: defaultdict[str, list[str]] = defaultdict(list)
    for group, decision in view.decisions("reserve"):
        nodes[group.beneficiary].append(decision.reserve.node)
    for _, decision in view.decisions("evict"):
        leaving[decision.evict.preemptor].append(view.name(view.owner(decision.evict.pod)))
    for hold in view.reservations:
        nodes[hold.pod_group].append(hold.node)
    for beneficiary, pod in view.pending_evictions:
        leaving[beneficiary].append(view.name(view.owner(pod)))
    lines = [
        TableRow(
            (view.name(uid), view.queue(uid), _places(nodes[uid]), _evicted_text(leaving[uid])),
            (view.queue(uid),),
        )
        for uid in (outcome.pod_group for outcome in view.response.outcomes if outcome.kind in WAITING_KINDS)
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Reserved on", wraps=True),
        TableColumn("Waiting for", wraps=True),
    )
    return TableSection("Waiting for capacity", columns, ("Queue",), lines)


def render_pending(view: ResponseView) -> TableSection:
    """Pod groups that got no room, why, and what would help."""
    lines = [
        TableRow(
            (view.name(outcome.pod_group), view.queue(outcome.pod_group), _why(view, outcome)),
            (view.queue(outcome.pod_group), _reason_name(outcome.reason.code)),
        )
        for outcome in view.response.outcomes
        if outcome.kind not in (pb.OUTCOME_KIND_BOUND, *WAITING_KINDS)
    ]
    columns = (TableColumn("Pod group"), TableColumn("Queue"), TableColumn("Reason", wraps=True))
    return TableSection("Pending", columns, ("Queue", "Reason"), lines)


def render_evicted(view: ResponseView) -> TableSection:
    """Pod groups that lose pods, the pod group that gets the room, and by which rule."""
    pods: Counter[tuple[str, str, pb.ReasonCode]] = Counter()
    for _, decision in view.decisions("evict"):
        evict = decision.evict
        pods[view.owner(evict.pod), evict.preemptor, decision.reason.code] += 1
    lines = [
        TableRow(
            (view.name(victim), str(number), view.name(beneficiary), _why_evicted(code)),
            (view.queue(victim), view.queue(beneficiary), _reason_name(code)),
        )
        for (victim, beneficiary, code), number in pods.items()
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Pods", right=True),
        TableColumn("Evicted for"),
        TableColumn("Why", wraps=True),
    )
    return TableSection("Evicted", columns, ("Queue", "To queue", "Reason"), lines)


def _why(view: ResponseView, outcome: pb.PodGroupOutcome) -> str:
    text = view.short_message(outcome.pod_group, outcome.reason.message)
    if outcome.reason.HasField("until"):
        text += f" ({format_remaining(outcome.reason.until.ToNanoseconds(), view.now)})"
    return text


def _evicted_text(pod_groups: Iterable[str]) -> str:
    pods = Counter(pod_groups)
    parts = [f"{format_count(number, 'pod')} of {name}" for name, number in sorted(pods.items())]
    return join_words(parts) if parts else "terminating pods on the node"


def _why_evicted(code: int) -> str:
    row = REASONS.get(code)
    return "" if row is None else row.victim_clause


def _places(nodes: Iterable[str]) -> str:
    pods = Counter(nodes)
    return join_words(
        [node if number == 1 else f"{number} on {node}" for node, number in sorted(pods.items())]
    )


def _reason_name(code: pb.ReasonCode) -> str:
    """The code as words: `over fair share`."""
    return enum_label(pb.ReasonCode, code).replace("_", " ")


def render_headline(view: ResponseView) -> str:
    """One sentence about the pod groups that had pods to schedule, and about those that make room."""
    kinds = [outcome.kind for outcome in view.response.outcomes]
    bound, soon = kinds.count(pb.OUTCOME_KIND_BOUND), sum(kind in WAITING_KINDS for kind in kinds)
    later = len(kinds) - bound - soon
    found = [
        (number, state)
        for number, state in (
            (bound, "scheduled"),
            (soon, f"waiting for {_awaited(view)}"),
            (later, "pending"),
        )
        if number
    ]
    parts = [
        f"{number:,} {state}" if index else f"{format_count(number, 'pod group')} {state}"
        for index, (number, state) in enumerate(found)
    ]
    text = join_words(parts) or "no pod group has pods to schedule"
    return f"{format_clock(view.now, view.now)}: {text}{_requeued_text(view)}."


def _awaited(view: ResponseView) -> str:
    pods = sum(1 for _ in view.decisions("evict"))
    return format_count(pods, "evicted pod") if pods else "terminating pods"


def _requeued_text(view: ResponseView) -> str:
    number = sum(each.result == pb.NOMINATION_RESULT_REQUEUED for each in view.response.nominations)
    whose = "its" if number == 1 else "their"
    return f"; {number:,} past {whose} expected runtime requeued" if number else ""


def print_wake(console: Console, view: ResponseView) -> None:
    """Says when to ask again; nothing when time does not matter."""
    if view.response.HasField("next_wake_time"):
        wake = format_clock(view.response.next_wake_time.ToNanoseconds(), view.now)
        console.print(f"Next evaluation needed at {wake}.")


STATE_NAMES: Final = {
    pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT: "keep sending",
    pb.IN_FLIGHT_GROUP_STATE_SUPERSEDED: "superseded",
    pb.IN_FLIGHT_GROUP_STATE_COMPLETED: "completed",
    pb.IN_FLIGHT_GROUP_STATE_EXPIRED: "expired, drop it",
    pb.IN_FLIGHT_GROUP_STATE_CANCELLED: "cancelled, drop it",
}


def render_in_flight(view: ResponseView) -> TableSection:
    """Every group in flight, whom it is for, what to do with it, and why."""
    beneficiaries = {group.id: group.beneficiary for group in view.snapshot.in_flight_groups}
    lines = []
    for status in view.response.in_flight_group_statuses:
        uid, what = beneficiaries.get(status.id, ""), STATE_NAMES.get(status.state, "keep sending")
        _, _, why = status.reason.message.partition(": ")
        cells = (status.id, view.name(uid), what, why.removesuffix("."))
        lines.append(TableRow(cells, (view.queue(uid), what)))
    columns = (
        TableColumn("Group"),
        TableColumn("For"),
        TableColumn("What to do"),
        TableColumn("Why", wraps=True),
    )
    return TableSection("In-flight groups", columns, ("Queue", "What to do"), lines)


MAX_NAMED: Final = 3
"""Pod groups that are named for each kind of doubt."""


def render_warnings(view: ResponseView) -> TableSection:
    """One line for each kind of doubt: how many pod groups, the first few, and what is said of the first."""
    by_code: dict[int, list[SnapshotWarning]] = {}
    for warning in view.response.warnings:
        by_code.setdefault(warning.code, []).append(warning)
    lines = [_line(view, code, warnings) for code, warnings in by_code.items()]
    columns = (
        TableColumn("Warning", wraps=True),
        TableColumn("Count", right=True),
        TableColumn("Examples", wraps=True),
        TableColumn("Interpretation", wraps=True),
    )
    return TableSection("Warnings", columns, ("Warning",), lines)


def _line(view: ResponseView, code: int, warnings: list[SnapshotWarning]) -> TableRow:
    doubt = enum_label(WarningCode, code).replace("_", " ")
    number = sum(warning.count for warning in warnings)
    uids = [uid for warning in warnings for uid in warning.pod_groups]
    names = [view.name(uid) for uid in uids[:MAX_NAMED]]
    reading = warnings[0].message
    for name in names[:1]:
        reading = reading.removeprefix(f"pod group {name}: ")
    return TableRow((doubt, f"{number:,}", _some(names, number), reading), (doubt,))


def _some(names: list[str], number: int) -> str:
    rest = number - len(names)
    return join_words([*names, f"{rest:,} more"] if rest else names)
