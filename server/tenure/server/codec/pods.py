"""Pods: from rows to specs that the model links. The hot path of decoding: pods are by far the most."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.server.codec.checks import MISSING, known_enum, time_read
from tenure.server.codec.lost import LOST
from tenure.server.codec.violations import Findings, shown
from tenure.server.codec.workloadrows import PodRow
from tenure.server.codec.zones import decode_placement
from tenure.solver.model.node import Node
from tenure.solver.model.numa import NumaZone, Zones
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.resources import NOTHING
from tenure.solver.model.specs import DEFAULT_SUB_GROUP, TaskSpec
from tenure.solver.model.workload import TaskShape
from tenure.v1 import snapshot_pb2 as pb

STATUSES: Final = dict(enumerate(TaskStatus, start=1))
"""Statuses by their number in the contract."""
KNOWN_STATUSES: Final = frozenset(STATUSES)
OFF_NODE: Final = {int(status): Placement(status) for status in TaskStatus if not status.is_active_used}
"""Placements of pods that occupy no node, by status."""
NO_SHAPE: Final = TaskShape(0, "", NOTHING)
"""In place of one that does not exist."""
NODE_MISSING: Final = "is required for a pod that occupies a node"
NO_PLACEMENT: Final = Placement(TaskStatus.UNKNOWN)
"""Of a pod whose status is not known."""


def _no_placements() -> dict[int, dict[str, Placement]]:
    return {number: {} for number in STATUSES}


@dataclass(frozen=True, slots=True)
class Known:
    """What pods may refer to, and what of them matters."""

    nodes: dict[str, int]
    """Index of each node by name."""
    zones: Sequence[Sequence[NumaZone]]
    """Zones of each node by index; empty when no node has any."""
    shapes: dict[str, TaskShape]
    pod_groups: Container[str]
    claims: Mapping[str, int]
    """Index of each device claim by id."""
    slots: Mapping[str, int]
    has_pod_affinity: bool
    """Whether any shape has terms, without which nobody looks at labels of pods."""
    placements: dict[int, dict[str, Placement]] = field(default_factory=_no_placements)
    """Plain placements that were met, by status and node: of pods that take no part of a device or zone."""

    @classmethod
    def of(
        cls,
        ranks: dict[str, int],
        nodes: Sequence[Node],
        shapes: Sequence[TaskShape],
        pod_groups: Container[str],
        claims: Mapping[str, int],
        slots: Mapping[str, int],
    ) -> "Known":
        """From what was decoded before the pods; `ranks` gives the index of each node name."""
        constraints = [shape.constraints for shape in shapes]
        return cls(
            nodes=ranks,
            zones=[node.numa_zones for node in nodes] if any(node.numa_zones for node in nodes) else (),
            shapes={shape.id: shape for shape in shapes},
            pod_groups=pod_groups,
            claims=claims,
            slots=slots,
            has_pod_affinity=any(c.pod_affinity or c.pod_anti_affinity for c in constraints),
        )


class _More:
    """What few pods say. Fields as in TaskSpec."""

    def __init__(self, i: int, message: pb.Pod, known: Known, findings: Findings) -> None:
        claims, nominated = message.device_claims, message.nominated_node
        self.priority = message.task_priority if message.HasField("task_priority") else None
        self.leader = message.leader
        self.nominated_node = known.nodes.get(nominated, NOWHERE) if nominated else NOWHERE
        self.blocked_by = message.blocked_by
        self.claims = _claims(i, claims, known.claims, findings) if claims else ()
        self.labels = tuple(sorted(message.labels.items())) if known.has_pod_affinity else ()


def decode_pods(rows: Sequence[PodRow], known: Known, findings: Findings) -> list[TaskSpec]:
    """One spec per pod.

    The node of a pod whose status occupies none is of no account, nor is a nominated node that is gone.
    """
    shapes, pod_groups = known.shapes, known.pod_groups
    specs = []
    for i, row in enumerate(rows):
        shape = shapes.get(row.shape, NO_SHAPE)
        if shape is NO_SHAPE or row.pod_group not in pod_groups:
            _note_references(i, row, shape, pod_groups, findings)
        message = pb.Pod.FromString(row.more) if row.more else None
        placement = OFF_NODE.get(row.status) or _placement(i, row, message, shape, known, findings)
        creation = 0
        if row.has_creation:
            creation = time_read(row.creation[0], row.creation[1], findings, i, "creation_time")
        more = _NOTHING_MORE if message is None else _More(i, message, known, findings)
        spec = TaskSpec(
            row.uid,
            row.pod_group,
            shape,
            placement,
            row.name or row.uid,
            row.sub_group or DEFAULT_SUB_GROUP,
            creation,
            more.priority,
            more.leader,
            more.nominated_node,
            more.blocked_by,
            more.claims,
            more.labels,
        )
        specs.append(spec)
    return specs


def _note_references(
    i: int, row: PodRow, shape: TaskShape, pod_groups: Container[str], findings: Findings
) -> None:
    if row.pod_group not in pod_groups:
        unknown = f"there is no pod group with uid {shown(row.pod_group)}"
        findings.add(i, "pod_group", unknown if row.pod_group else MISSING)
    if shape is NO_SHAPE:
        unknown = f"there is no shape with id {shown(row.shape)}"
        findings.add(i, "shape", unknown if row.shape else MISSING)


def _claims(i: int, names: Sequence[str], known: Mapping[str, int], findings: Findings) -> tuple[int, ...]:
    for at, name in enumerate(names):
        if name not in known:
            findings.add(i, f"device_claims[{at}]", f"there is no device claim {shown(name)}")
        elif name in names[:at]:
            findings.add(i, f"device_claims[{at}]", f"{shown(name)} is named twice")
    return tuple(sorted(known[name] for name in names if name in known))


def _placement(
    i: int, row: PodRow, message: pb.Pod | None, shape: TaskShape, known: Known, findings: Findings
) -> Placement:
    """The placement of a pod that occupies a node. Plain ones of one status on one node are one object."""
    is_plain = not (shape.gpu.is_shared or known.zones)
    if is_plain:
        met = known.placements.get(row.status)
        placement = None if met is None else met.get(row.node)
        if placement is not None:
            return placement
    if not known_enum(row.status, KNOWN_STATUSES, findings, i, "status"):
        return NO_PLACEMENT
    node = known.nodes.get(row.node, NOWHERE)
    if node == NOWHERE:
        if not row.node:
            findings.add(i, "node", NODE_MISSING)
        return LOST
    status = STATUSES[row.status]
    if is_plain:
        placement = known.placements[row.status][row.node] = Placement(status, node)
        return placement
    groups: tuple[str, ...] = ()
    if shape.gpu.is_shared:
        groups = tuple(row.gpu_groups)
        _check_groups(i, groups, shape.gpu.devices, findings)
    zones: Zones = ()
    if known.zones and known.zones[node]:
        taken = () if message is None else message.numa_placement
        zones = decode_placement(i, taken, known.zones[node], known.slots, findings)
    return Placement(status, node, groups, zones=zones)


def _check_groups(i: int, groups: Sequence[str], devices: int, findings: Findings) -> None:
    if len(groups) != devices:
        problem = f"must name the {devices} shared devices that the pod uses, not {len(groups)}"
        findings.add(i, "gpu_groups", problem)
    for at, group in enumerate(groups):
        if not group:
            findings.add(i, f"gpu_groups[{at}]", MISSING)
        elif group in groups[:at]:
            findings.add(i, f"gpu_groups[{at}]", f"{shown(group)} is named twice")


_NOTHING_MORE: Final = _More(0, pb.Pod(), Known.of({}, (), (), (), {}, {}), Findings("pods"))
