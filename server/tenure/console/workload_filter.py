"""Which workloads are shown, in which order, and as a file."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final

from tenure.console.formatting import printable
from tenure.console.view import View
from tenure.console.workloads import State, WorkloadRow, workloads

ORDERS: Final[Mapping[str, Callable[[WorkloadRow], Any]]] = {
    "name": lambda row: row.name,
    "queue": lambda row: row.group.queue,
    "state": lambda row: list(State).index(row.state),
    "priority": lambda row: -row.group.priority,
    "preemptibility": lambda row: row.preemptibility,
    "pods": lambda row: -(row.running + row.waiting),
    "gpus": lambda row: -row.gpus,
    "since": lambda row: row.since,
    "protected": lambda row: row.protected_until or float("inf"),
    "expected": lambda row: row.due or float("inf"),
    "cooldown": lambda row: row.cooldown_until or float("inf"),
    "evictions": lambda row: -row.group.eviction_count,
    "reason": lambda row: (not row.code, row.code),
}
"""Sort keys of the columns, each in its usual direction."""


MAX_CACHED: Final = 50
"""Derived lists that are kept for a view, whatever readers ask for."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Filter:
    """What is shown, and in which order."""

    text: str = ""
    queue: str = ""
    """With the queues below it."""
    state: str = ""
    preemptibility: str = ""
    protected: str = ""
    """`yes` or `no`."""
    sort: str = "queue"
    is_reversed: bool = False


def select(view: View, wanted: Filter, queues: frozenset[str] | None = None) -> Sequence[WorkloadRow]:
    """Rows in their order, made once for a view; `queues` are the only ones that the reader may see."""
    key = f"{wanted} {queues and sorted(queues)}"
    cached = view.caches.get(key)
    if cached is None:
        for oldest in list(view.caches)[: max(0, len(view.caches) - MAX_CACHED)]:
            view.caches.pop(oldest, None)
        rows = [row for row in workloads(view) if _matches(view, row, wanted, queues)]
        rows.sort(key=lambda row: (row.group.queue, -row.group.priority, row.name, row.group.uid))
        order = ORDERS.get(wanted.sort)
        if order is not None and (wanted.sort != "queue" or wanted.is_reversed):
            rows.sort(key=order, reverse=wanted.is_reversed)
        cached = view.caches[key] = rows
    return cached  # type: ignore[return-value]


def _matches(view: View, row: WorkloadRow, wanted: Filter, queues: frozenset[str] | None) -> bool:
    group = row.group
    if queues is not None and group.queue not in queues:
        return False
    if wanted.state and row.state != wanted.state:
        return False
    if wanted.preemptibility and row.preemptibility != wanted.preemptibility:
        return False
    if wanted.protected and (wanted.protected == "yes") != bool(row.protections):
        return False
    if wanted.queue and wanted.queue not in (group.queue, *view.path_of(group.queue)):
        return False
    text = wanted.text.lower()
    return not text or any(text in each.lower() for each in (row.name, group.uid, group.namespace))


def filter_of(query: Mapping[str, str]) -> Filter:
    """The filter in a URL."""
    return Filter(
        text=query.get("q", "")[:253],
        queue=query.get("queue", "")[:300],
        state=query.get("state", "")[:20],
        preemptibility=query.get("preemptibility", "")[:30],
        protected=query.get("protected", "")[:3],
        sort=query.get("sort", "queue")[:20],
        is_reversed=query.get("dir") == "desc",
    )


CSV_COLUMNS: Final[Mapping[str, Callable[[WorkloadRow], object]]] = {
    "uid": lambda row: row.group.uid,
    "name": lambda row: row.name,
    "namespace": lambda row: row.group.namespace,
    "queue": lambda row: row.group.queue,
    "state": lambda row: row.state.value,
    "priority": lambda row: row.group.priority,
    "preemptibility": lambda row: row.preemptibility,
    "preemptibility_source": lambda row: row.preemptibility_source,
    "pods_running": lambda row: row.running,
    "pods_waiting": lambda row: row.waiting,
    "pods_minimum": lambda row: row.minimum,
    "gpus": lambda row: row.gpus / 1000,
    "evictions": lambda row: row.group.eviction_count,
    "reason_code": lambda row: row.code,
}
"""Columns of the file, with their values."""


def to_csv(rows: Iterable[WorkloadRow]) -> str:
    """The rows as a file with a line of names."""
    output = StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        writer.writerow(_plain(value(row)) for value in CSV_COLUMNS.values())
    return output.getvalue()


def _plain(value: object) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = printable(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
