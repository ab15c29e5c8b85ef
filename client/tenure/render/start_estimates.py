"""Table of when pending pod groups start."""

from rich.console import Console
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_gpus, format_remaining
from tenure.v1.explain_pb2 import ExplainResponse, StartEstimate
from tenure.v1.snapshot_pb2 import Certainty, ClusterSnapshot

_COLUMNS = (
    TableColumn("Pod group"),
    TableColumn("Queue"),
    TableColumn("Place", right=True),
    TableColumn("GPUs ahead", right=True),
    TableColumn("Starts", wraps=True),
    TableColumn("At the latest", wraps=True),
)


def print_start_estimates(console: Console, response: ExplainResponse, snapshot: ClusterSnapshot) -> None:
    """Print one row for each pod group, by queue and place."""
    groups = {group.uid: group for group in snapshot.pod_groups}
    now = snapshot.now.ToNanoseconds()
    ordered = sorted(
        response.start_estimates,
        key=lambda each: (groups[each.pod_group].queue, each.position, each.pod_group),
    )
    rows = []
    for each in ordered:
        group = groups[each.pod_group]
        latest = each.latest_start.ToNanoseconds() if each.HasField("latest_start") else None
        cells = (
            *(group.name or group.uid, group.queue),
            str(each.position) if each.position else "",
            format_gpus(each.gpu_milli_ahead),
            _start(each, now),
            "" if latest is None else format_remaining(latest, now),
        )
        rows.append(TableRow(cells, (group.queue,)))
    TableSection("When they start", _COLUMNS, ("Queue",), rows).print(console)


def _start(estimate: StartEstimate, now: int) -> str:
    if not estimate.HasField("likely_start"):
        return "not known"
    start = estimate.likely_start.ToNanoseconds()
    if start <= now:
        return "in this cycle"
    word = "by" if estimate.certainty == Certainty.CERTAINTY_BOUNDED else "about"
    return f"{word} {format_remaining(start, now)}"
