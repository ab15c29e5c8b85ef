"""Section of the report: planned starts, and what they rest on (R17.2, R17.6)."""

from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_remaining, join_words
from tenure.v1 import snapshot_pb2 as pb

_CERTAINTIES: Final = {
    pb.CERTAINTY_BOUNDED: "by time limits",
    pb.CERTAINTY_EXPECTED: "by expected runtimes",
    pb.CERTAINTY_ASSUMED: "by assumed runtimes",
}
_DELAYS: Final = {
    pb.START_DELAY_OVERRUN: "a pod group runs longer than planned",
    pb.START_DELAY_NODE_LOST: "a node was lost",
    pb.START_DELAY_QUEUE_BOUND: "its queue may use less than planned",
    pb.START_DELAY_NODES_IN_USE: "its nodes are in use",
}
_MOST_NODES: Final = 3
"""Nodes that are named; of the others, the number is."""


def render_planned_starts(view: ResponseView) -> TableSection:
    """Pod groups that wait with a place, the earliest start first; without a known start, last."""
    rows = [
        TableRow(
            (
                view.name(row.pod_group),
                _start(view, row),
                _CERTAINTIES.get(row.certainty, ""),
                _nodes(row),
                _DELAYS.get(row.delayed_by, ""),
            ),
            (view.queue(row.pod_group),),
        )
        for row in sorted(view.response.planned_starts, key=_by_start)
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Start", wraps=True),
        TableColumn("Certainty", wraps=True),
        TableColumn("Nodes", wraps=True),
        TableColumn("Delayed because", wraps=True),
    )
    return TableSection("Planned starts", columns, ("Queue",), rows)


def planned_start_text(view: ResponseView, row: pb.PlannedStart, *, with_nodes: bool) -> str:
    """One planned start as a clause; nodes are for operators."""
    start = "start not known" if row.certainty == pb.CERTAINTY_UNKNOWN else f"starts {_start(view, row)}"
    if row.HasField("paused_until"):
        start = _start(view, row)
    parts = [start, _CERTAINTIES.get(row.certainty, "")]
    parts.append(f"on {_nodes(row)}" if with_nodes and row.pods else "")
    delay = _DELAYS.get(row.delayed_by)
    return ", ".join(filter(None, [*parts, f"later than planned: {delay}" if delay else ""]))


def _by_start(row: pb.PlannedStart) -> tuple[bool, int, str]:
    return not row.HasField("start_time"), row.start_time.ToNanoseconds(), row.pod_group


def _start(view: ResponseView, row: pb.PlannedStart) -> str:
    if row.HasField("paused_until"):
        return f"nothing is reserved until {format_remaining(row.paused_until.ToNanoseconds(), view.now)}"
    if not row.HasField("start_time"):
        return "not known"
    return format_remaining(row.start_time.ToNanoseconds(), view.now)


def _nodes(row: pb.PlannedStart) -> str:
    names = list(dict.fromkeys(place.node for place in row.pods))
    rest = len(names) - _MOST_NODES
    return join_words([*names[:_MOST_NODES], f"{rest} more"] if rest > 0 else names) if names else ""
