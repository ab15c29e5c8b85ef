"""Contents of the pages. Each function returns the template and its values for one view and one reader."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tenure.console import decisions, nodes, queues, story, workloads
from tenure.console.answer_pages import explain_page, replay_page, what_if_page
from tenure.console.audience_texts import reason_for, source_text, warning_texts
from tenure.console.formatting import clock
from tenure.console.page_request import Content, NotFound, Request
from tenure.console.workload_filter import filter_of, select
from tenure.render.planned_starts import planned_start_text
from tenure.terms.durations import SECOND
from tenure.terms.formatting import join_words
from tenure.v1.snapshot_pb2 import Fate, PodGroup, PodStatus
from tenure.wire.enum_labels import enum_label

ROWS: Final = 100
"""Rows of one chunk of a long table."""
_RESOURCES: Final = (
    ("gpu", queues.Resource.GPU, "GPUs"),
    ("cpu", queues.Resource.CPU, "CPU cores"),
    ("memory", queues.Resource.MEMORY, "Memory"),
)
_ACTIONS: Final = (
    "",
    "allocate",
    "reclaim",
    "preempt",
    "consolidation",
    "requeue",
    "fulfill",
    "stalegangeviction",
    "timelimit",
)
_FATES: Final = {
    Fate.FATE_HOLD: "it is held until it is released",
    Fate.FATE_DELETE: "it is deleted",
    Fate.FATE_SUSPEND: "it is suspended",
}
_HOUR: Final = 3600 * SECOND


class Resource(NamedTuple):
    """A choice of the page Queues."""

    key: str
    field: str
    label: str


def queues_page(request: Request) -> Content:
    """The tree with shares."""
    view = request.view
    choices = [Resource(*each) for each in _RESOURCES]
    chosen = next((each for each in choices if each.key == request.text("resource")), choices[0])
    rows = queues.queue_rows(view, queues.Resource(chosen.field), request.visible)
    scale = max((row.reach for row in rows), default=0)
    return "queues.html.j2", {
        "rows": rows,
        "scale": scale,
        "peaks": {row.queue.name: max([*row.history, row.quota, 1]) for row in rows},
        "lendings": queues.lendings(rows),
        "planned_starts": [
            (row, _planned_start(request, row.group.uid))
            for each in request.view.response.planned_starts
            if (row := workloads.workload(request.view, each.pod_group)) and request.sees(row)
        ],
        "resource": chosen.field,
        "resources": choices,
        "unit": chosen.label,
        "total": _totals(request, rows, chosen.field),
    }


def _totals(request: Request, rows: Sequence[queues.QueueRow], resource: str) -> dict[str, int]:
    view = request.view
    own = [row for row in workloads.workloads(view) if request.sees(row)]
    tops = [row for row in rows if row.queue.parent not in {other.queue.name for other in rows}]
    if request.visible is None:
        capacity = sum(getattr(node.allocatable, resource) for node in view.snapshot.nodes)
        if resource == queues.Resource.GPU:
            capacity = sum(row.gpus for row in nodes.node_rows(view))
    else:
        capacity = sum(max(row.quota, 0) for row in tops)
    names = {row.group.uid for row in own}
    evictions = sum(
        decision.evict.pod_group in names
        for cycle in view.cycles
        if view.now - cycle.response.header.now.ToNanoseconds() <= _HOUR
        for group in cycle.response.groups
        for decision in group.decisions
        if decision.HasField("evict")
    )
    return {
        "allocated": sum(row.allocated for row in tops),
        "capacity": capacity,
        "running": sum(row.state is workloads.State.RUNNING for row in own),
        "waiting": sum(row.state is workloads.State.WAITING for row in own),
        "protected": sum(bool(row.protections) for row in own),
        "evictions": evictions,
    }


def workloads_page(request: Request) -> Content:
    """The grid, by chunks of rows."""
    wanted = filter_of(request.query)
    found = select(request.view, wanted, request.visible)
    start = request.number("start") // ROWS * ROWS
    is_frame = request.text("part") == "frame"
    names = sorted(request.visible if request.visible is not None else request.view.queues)
    return "workloads.html.j2", {
        "rows": () if is_frame else found[start : start + ROWS],
        "start": start,
        "total": len(found),
        "size": ROWS,
        "wanted": wanted,
        "queues": names,
        "states": list(workloads.State),
        "filter_parameters": {
            key: value
            for key, value in request.query.items()
            if key not in ("start", "part", "cluster", "pool")
        },
        "reason_short": lambda row: _short(request, row),
    }


def _short(request: Request, row: workloads.WorkloadRow) -> str:
    if not request.is_operator:
        return reason_for(request.audience, row.reason)  # type: ignore[arg-type]
    words = row.code if "/" in row.code else row.code.replace("_", " ").capitalize()
    return f"{words}: {row.reason.detail}" if row.reason is not None and row.reason.detail else words


def workload_page(request: Request) -> Content:
    """One workload with its story."""
    row = request.workload()
    view = request.view
    return "workload.html.j2", {
        "row": row,
        "path": [
            name for name in view.path_of(row.group.queue) if request.is_operator or request.may_name(name)
        ],
        "story": story.build_story(view, row, lambda source: _source(request, source)),
        "source": lambda source: _source(request, source),
        "pods": view.pods_of.get(row.group.uid, ()),
        "pod_status": lambda status: enum_label(PodStatus, status).replace("_", " "),
        "fate_text": _fate_text,
        "planned_start": _planned_start(request, row.group.uid),
        "clock": lambda time: clock(time, view.now),
    }


def _source(request: Request, source: str) -> str:
    return source_text(request.audience, request.may_name, source)


def _planned_start(request: Request, uid: str) -> str:
    """The planned start of a workload in words; nothing without one."""
    rows = request.view.response.planned_starts
    own = next((row for row in rows if row.pod_group == uid), None)
    if own is None:
        return ""
    return planned_start_text(request.view.names, own, with_nodes=request.is_operator)


def _fate_text(group: PodGroup) -> str:
    """What becomes of a pod group when it is evicted."""
    return _FATES.get(group.on_evict, "it waits again for capacity")


def decisions_page(request: Request) -> Content:
    """Recent cycles."""
    action, number = request.text("action"), request.number("cycle")
    if action not in _ACTIONS:
        action = ""
    rows = decisions.cycle_rows(request.view, action, number)
    if number and not rows:
        raise NotFound("This cycle is no longer kept by the service. Its records may have it.")
    return "decisions.html.j2", {
        "rows": rows,
        "action": action,
        "actions": _ACTIONS,
        "in_flight": decisions.in_flight(request.view),
        "replayable": {row.cycle.number for row in rows if row.version in request.view.versions},
    }


def nodes_page(request: Request) -> Content:
    """GPUs as cells, by chunks of rows."""
    view, text = request.view, request.text("q")
    only_free = request.text("free") == "yes"
    found = nodes.node_rows(view, text, only_free)
    start = request.number("start") // ROWS * ROWS
    is_frame = request.text("part") == "frame"
    return "nodes.html.j2", {
        "rows": () if is_frame else found[start : start + ROWS],
        "start": start,
        "total": len(found),
        "size": ROWS,
        "text": text,
        "only_free": only_free,
        "legend": nodes.legend(view),
        "unusable": nodes.describe_unusable(view),
        "cells_text": _cells_text,
    }


def _cells_text(row: nodes.NodeRow) -> str:
    """The cells in words: GPUs by queue."""
    counts = Counter(part.queue for cell in row.cells for part in cell)
    free = sum(not cell for cell in row.cells)
    parts = [f"{number} of queue {queue}" for queue, number in sorted(counts.items())]
    return join_words([*parts, *([f"{free} free"] if free else [])]) or "no GPUs"


def health_page(request: Request) -> Content:
    """The service, its profile, and the search of the last cycle."""
    counters = request.view.response.counters
    return "health.html.j2", {
        "capabilities": request.watch.capabilities,
        "warnings": list(warning_texts(request)),
        "busy": 100 * request.watch.budget.spent / max(1.0, time.monotonic() - request.watch.started_at),
        "states": [
            state
            for state in request.watch.states
            if request.reader.clusters is None
            or (state.cluster_id, state.node_pool) in request.reader.clusters
        ],
        "counters": [
            (field.name.replace("_", " "), getattr(counters, field.name))
            for field in counters.DESCRIPTOR.fields
        ],
    }


class Page(NamedTuple):
    """A page of the navigation."""

    path: str
    label: str
    content: Callable[[Request], Content]
    for_tenants: bool = True


PAGES: Final = (
    Page("queues", "Queues", queues_page),
    Page("workloads", "Workloads", workloads_page),
    Page("decisions", "Decisions", decisions_page, for_tenants=False),
    Page("what-if", "What if", what_if_page),
    Page("nodes", "Nodes", nodes_page, for_tenants=False),
    Page("health", "Health", health_page),
)
OTHERS: Final = (
    Page("workload", "Workload", workload_page),
    Page("explain", "Explanation", explain_page),
    Page("replay", "Decided again", replay_page, for_tenants=False),
)
