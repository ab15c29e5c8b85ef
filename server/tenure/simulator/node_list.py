"""A CSV of nodes of several kinds, for `--nodes FILE`: our own columns, or the node list of the openb trace.

Ours are `gpus`, and optionally `name`, `count` (so many such nodes), `cpu` (cores), `memory` (GiB) and
`gpu_kind`; a node without `cpu` or `memory` has more of it than GPU jobs use. A byte order mark is skipped.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tenure.simulator.cluster import NodeSort, build_nodes
from tenure.simulator.jobs import TraceError, count
from tenure.simulator.traces.amounts import CORE, GIB, MIB, capacity, whole_amount
from tenure.simulator.traces.csv_lines import check_header, separator_problem
from tenure.simulator.traces.text_file import read_text
from tenure.v1.snapshot_pb2 import Node

COLUMNS: Final = ("gpus",)
OPTIONAL_COLUMNS: Final = ("name", "count", "cpu", "memory", "gpu_kind")
OPENB_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
MAX_NODES: Final = 100_000


def read_nodes(path: Path) -> list[Node]:
    """The nodes of a file. Raises TraceError, which names the line."""
    text, _ = read_text(path)
    try:
        return _read(text.splitlines())
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def _read(lines: list[str]) -> list[Node]:
    if problem := separator_problem(lines[0] if lines else ""):
        raise TraceError(problem)
    rows = csv.DictReader(lines)
    rows.fieldnames = found = [name.strip() for name in rows.fieldnames or ()]
    is_openb = set(OPENB_COLUMNS) <= set(found)
    if not is_openb:
        check_header(found, COLUMNS)
        if unknown := sorted(set(found) - {*COLUMNS, *OPTIONAL_COLUMNS}):
            known = ", ".join((*COLUMNS, *OPTIONAL_COLUMNS))
            raise TraceError(f"line 1 has the unknown column {unknown[0]}; known: {known}")
    nodes: list[Node] = []
    names: set[str] = set()
    for row in rows:
        try:
            if None in row or None in row.values():
                raise ValueError(f"has not the {len(found)} values of the header")
            values = {name: value.strip() for name, value in row.items()}
            made = _openb_nodes(values) if is_openb else _own_nodes(values)
            for node in made:
                node.name = node.name or f"node-{len(nodes):05d}"
                if node.name in names:
                    raise ValueError(f"the name {node.name!r} is used twice")
                names.add(node.name)
                nodes.append(node)
            if len(nodes) > MAX_NODES:
                raise ValueError(f"these are more than {MAX_NODES} nodes")
        except ValueError as error:
            raise TraceError(f"line {rows.line_num}: {error}") from None
    if not nodes:
        raise TraceError("has no nodes")
    return nodes


def _own_nodes(row: Mapping[str, str]) -> list[Node]:
    many = count(row["count"], "count", 1) if row.get("count") else 1
    if many > MAX_NODES:
        raise ValueError(f"count {many} is more than {MAX_NODES}")
    if many > 1 and row.get("name"):
        raise ValueError("a name is that of one node; leave it empty with a count")
    nodes = build_nodes([NodeSort(many, count(row["gpus"], "gpus"), row.get("gpu_kind", ""))])
    for node in nodes:
        node.name = row.get("name", "")
        if row.get("cpu"):
            node.allocatable.cpu_milli = capacity(row["cpu"], "cpu", CORE)
        if row.get("memory"):
            node.allocatable.memory_bytes = capacity(row["memory"], "memory", GIB)
    return nodes


def _openb_nodes(row: Mapping[str, str]) -> list[Node]:
    (node,) = build_nodes([NodeSort(1, count(row["gpu"], "gpu"), row["model"])])
    node.name = row["sn"]
    if not node.name:
        raise ValueError("sn is empty")
    node.allocatable.cpu_milli = whole_amount(row["cpu_milli"], "cpu_milli")
    node.allocatable.memory_bytes = whole_amount(row["memory_mib"], "memory_mib") * MIB
    return [node]
