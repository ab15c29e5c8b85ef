"""`kubectl tenure queues`: the queues as a tree, with what the adapter writes into their status."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.text import Text
from tenure.kubernetes.objects.resource_amounts import MILLI, InvalidQuantity, quantity
from tenure.kubernetes.plugin.access import KubeApi
from tenure.render.table_section import TableColumn, empty_table
from tenure.terms.formatting import format_gpus

GPU_RESOURCE: Final = "nvidia.com/gpu"
_VERSIONS: Final = (("scheduling.run.ai/v2", "parentQueue"), ("scheduling.volcano.sh/v1beta1", "parent"))
"""API versions of queues, and their field with the parent."""
_BAR: Final = 14
_FAIR_SHARE: Final = "Fair share: "
_UNKNOWN: Final = "-"


class QueueRow(NamedTuple):
    """A queue as its object describes it. Amounts are quantities; an absent one is unknown."""

    name: str
    parent: str
    quota: Mapping[str, str]
    allocated: Mapping[str, str]
    requested: Mapping[str, str]
    fair_share: Mapping[str, str]
    problem: str
    """Why pod groups of the queue are not scheduled; "": they are, or it is not written yet."""

    def gpus(self, amounts: Mapping[str, str]) -> int | None:
        """GPUs in thousandths; None: unknown; negative: unlimited."""
        text = amounts.get(GPU_RESOURCE)
        if text is None:
            return None
        if text == "unlimited":
            return -1
        try:
            return quantity(text, MILLI)
        except InvalidQuantity:
            return None


def read_queues(api: KubeApi) -> list[tuple[int, QueueRow]]:
    """Queues with their depth, children below their parents. Raises ApiError."""
    rows: dict[str, QueueRow] = {}
    for version, parent in _VERSIONS:
        for item in api.items(version, "queues", None):
            row = _row(item, parent)
            rows.setdefault(row.name, row)
    return list(_tree(rows))


def _row(item: Mapping[str, Any], parent: str) -> QueueRow:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or []}
    ready, share = conditions.get("Ready", {}), conditions.get("WithinFairShare", {})
    quota: dict[str, str] = {}
    resources = spec.get("resources") or {}
    if "gpu" in resources:
        gpus = resources["gpu"].get("quota", 0)
        quota[GPU_RESOURCE] = "unlimited" if gpus < 0 else str(gpus)
    elif GPU_RESOURCE in (spec.get("deserved") or {}):
        quota[GPU_RESOURCE] = str(spec["deserved"][GPU_RESOURCE])
    return QueueRow(
        name=item["metadata"]["name"],
        parent=spec.get(parent) or "",
        quota=quota,
        allocated=_texts(status.get("allocated")),
        requested=_texts(status.get("requested")),
        fair_share=_fair_share(share.get("message", "")),
        problem=ready.get("message", "") if ready.get("status") == "False" else "",
    )


def _texts(amounts: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (amounts or {}).items()}


def _fair_share(message: str) -> dict[str, str]:
    """The amounts in the message of the condition WithinFairShare."""
    if not message.startswith(_FAIR_SHARE):
        return {}
    amounts = message.removeprefix(_FAIR_SHARE).partition(". ")[0].rstrip(".")
    return dict(part.split("=", 1) for part in amounts.split(", ") if "=" in part)


def _tree(rows: Mapping[str, QueueRow]) -> Iterator[tuple[int, QueueRow]]:
    """Queues whose parent is not there are at the top; those of a cycle come last."""
    children: defaultdict[str, list[QueueRow]] = defaultdict(list)
    for row in sorted(rows.values(), key=lambda row: row.name, reverse=True):
        children[row.parent if row.parent in rows else ""].append(row)
    seen: set[str] = set()
    stack = [(0, row) for row in children[""]]
    while stack:
        depth, row = stack.pop()
        seen.add(row.name)
        yield depth, row
        stack.extend((depth + 1, child) for child in children[row.name])
    yield from ((0, row) for name, row in sorted(rows.items()) if name not in seen)


def print_queues(console: Console, rows: Sequence[tuple[int, QueueRow]]) -> None:
    """Print the tree with a bar of GPUs for each queue."""
    reach = [row.gpus(one) or 0 for _, row in rows for one in (row.quota, row.allocated, row.fair_share)]
    scale = max(reach, default=0)
    columns = (
        TableColumn("Queue (GPUs)", wraps=True),
        *(TableColumn(heading, right=True) for heading in ("Quota", "Fair", "Used", "Asked")),
        TableColumn("█ used │ fair share"),
    )
    table = empty_table(columns)
    for depth, row in rows:
        table.add_row(*map(Text, _cells(depth, row, scale)))
    console.print(table)
    for _, row in rows:
        if row.problem:
            console.print(Text(f"{row.name} is not used: {row.problem}"))


def _cells(depth: int, row: QueueRow, scale: int) -> tuple[str, ...]:
    amounts = [row.gpus(one) for one in (row.quota, row.fair_share, row.allocated, row.requested)]
    texts = (_UNKNOWN if one is None else "∞" if one < 0 else format_gpus(one) for one in amounts)
    return ("  " * depth + row.name, *texts, _bar(amounts[2] or 0, amounts[1], scale))


def _bar(used: int, fair: int | None, scale: int) -> str:
    if scale <= 0:
        return ""
    filled = min(_BAR, round(used * _BAR / scale))
    bar = "█" * filled + "·" * (_BAR - filled)
    if fair is None or fair < 0:
        return bar
    mark = min(_BAR, round(fair * _BAR / scale))
    return f"{bar[:mark]}│{bar[mark:]}"


def queues_json(rows: Sequence[tuple[int, QueueRow]]) -> list[dict[str, Any]]:
    """The rows for `--output json`."""
    return [row._asdict() for _, row in rows]
