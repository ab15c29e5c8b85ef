"""Decode pods that are sent as columns, without a message for each pod."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tenure.codec.checks import MISSING, check_enum
from tenure.codec.missing_nodes import LEFT_OUT
from tenure.codec.pods import (
    KNOWN_STATUSES,
    NO_PLACEMENT,
    NO_SHAPE,
    NODE_MISSING,
    OFF_NODE,
    STATUSES,
    PodReferences,
)
from tenure.solver.model.facts import TaskFacts
from tenure.solver.model.placement import NOWHERE, Placement
from tenure.solver.model.workload_parts import DEFAULT_SUB_GROUP, TaskShape
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import PodColumns
from tenure.wire.columns import PodTable, check_structure, read_table
from tenure.wire.limits import MAX_TIME_SECONDS
from tenure.wire.violations import ViolationCollector, quote_name

_LATEST: Final = MAX_TIME_SECONDS * SECOND


def check_uids(columns: PodColumns, pods: Mapping[str, int], findings: ViolationCollector) -> None:
    """Check that UIDs are present and unique in columns and in `pods` (positions by UID)."""
    first: dict[str, int] = {}
    for i, uid in enumerate(columns.uid):
        if not uid:
            findings.add(i, "uid", MISSING)
        elif first.setdefault(uid, i) != i:
            findings.add(i, "uid", f"{quote_name(uid)} is already used by element {first[uid]}")
        elif uid in pods:
            findings.add(i, "uid", f"{quote_name(uid)} is already used by pods[{pods[uid]}]")


def decode_columns(
    columns: PodColumns, known: PodReferences, findings: ViolationCollector
) -> list[TaskFacts]:
    """Facts about each row, as `decode_pods` gives for a pod with these fields; none if they are invalid."""
    if not check_structure(columns, findings):
        return []
    table = read_table(columns)
    shapes = [known.shapes.get(shape, NO_SHAPE) for shape in table.shape]
    _check_references(table, shapes, known, findings)
    _check_times(table.creation, findings)
    rows = zip(
        table.uid,
        table.pod_group,
        shapes,
        _placements(table, shapes, known, findings),
        table.name,
        table.sub_group,
        table.creation,
        table.nominated_node,
        strict=True,
    )
    return [
        TaskFacts(
            uid=uid,
            pod_group=pod_group,
            shape=shape,
            placement=placement,
            name=name or uid,
            sub_group=sub_group or DEFAULT_SUB_GROUP,
            creation=creation,
            nominated_node=known.nodes.get(nominated_node, NOWHERE),
        )
        for uid, pod_group, shape, placement, name, sub_group, creation, nominated_node in rows
    ]


def _check_references(
    table: PodTable, shapes: Sequence[TaskShape], known: PodReferences, findings: ViolationCollector
) -> None:
    groups = known.pod_groups
    for i, group in enumerate(table.pod_group):
        if group not in groups:
            unknown = f"there is no pod group with uid {quote_name(group)}"
            findings.add(i, "pod_group", unknown if group else MISSING)
    for i, shape in enumerate(shapes):
        if shape is NO_SHAPE:
            name = table.shape[i]
            findings.add(i, "shape", f"there is no shape with id {quote_name(name)}" if name else MISSING)


def _check_times(times: Sequence[int], findings: ViolationCollector) -> None:
    for i, moment in enumerate(times):
        if not -_LATEST <= moment <= _LATEST:
            findings.add(i, "creation_time_delta_ns", "leads to a time not between the years 1677 and 2262")


def _placements(
    table: PodTable, shapes: Sequence[TaskShape], known: PodReferences, findings: ViolationCollector
) -> Iterator[Placement]:
    """Placement of each row. Rows with the same node and status share one."""
    placements: dict[tuple[int, str], Placement] = {}
    for i, (status, name, shape) in enumerate(zip(table.status, table.node, shapes, strict=True)):
        findings.step()
        placement = OFF_NODE.get(status) or placements.get((status, name))
        if placement is None:
            placement = _placement(i, status, name, known, findings)
            if placement.node != NOWHERE:
                placements[status, name] = placement
        if shape.gpu.is_shared and placement.node != NOWHERE:
            problem = f"must name the {shape.gpu.devices} shared devices that the pod uses: send it in pods"
            findings.add(i, "gpu_groups", problem)
        yield placement


def _placement(
    i: int, status: int, name: str, known: PodReferences, findings: ViolationCollector
) -> Placement:
    if not check_enum(status, KNOWN_STATUSES, findings, i, "status"):
        return NO_PLACEMENT
    node = known.nodes.get(name, NOWHERE)
    if node == NOWHERE:
        if not name:
            findings.add(i, "node", NODE_MISSING)
        return LEFT_OUT
    return Placement(STATUSES[status], node)
