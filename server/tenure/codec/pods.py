"""Decode pods: facts that are computed by hand. `read_facts` reads the others.

This is the hot path of decoding, since a snapshot has more pods than other rows."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Final

from tenure.codec.checks import MISSING, check_enum
from tenure.codec.missing_nodes import LEFT_OUT
from tenure.codec.nodes import decode_placement
from tenure.codec.read_facts import read_pod_facts
from tenure.solver.model.facts import TaskFacts
from tenure.solver.model.node import Node, NumaZone
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus, Zones
from tenure.solver.model.resources import NOTHING
from tenure.solver.model.workload_parts import DEFAULT_SUB_GROUP, TaskShape
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.rows import PodRow
from tenure.wire.violations import ViolationCollector, quote_name

STATUSES: Final = dict(enumerate(TaskStatus, start=1))
"""Statuses by number on the wire."""
KNOWN_STATUSES: Final = frozenset(STATUSES)
OFF_NODE: Final = {int(status): Placement(status) for status in TaskStatus if not status.is_active_used}
"""Placements of pods without a node, by status."""
NO_SHAPE: Final = TaskShape(0, "", NOTHING)
"""In place of a shape that does not exist."""
NODE_MISSING: Final = "is required for a pod that occupies a node"
NO_PLACEMENT: Final = Placement(TaskStatus.UNKNOWN)
"""Placement of a pod with an unknown status."""


def _no_placements() -> dict[int, dict[str, Placement]]:
    return {number: {} for number in STATUSES}


@dataclass(frozen=True, slots=True)
class PodReferences:
    """Objects that pods refer to."""

    nodes: dict[str, int]
    """Index of each node by name."""
    zones: Sequence[Sequence[NumaZone]]
    """Zones of each node by index; empty if no node has zones."""
    shapes: dict[str, TaskShape]
    pod_groups: Container[str]
    claims: Mapping[str, int]
    """Index of each resource claim by ID."""
    slots: Mapping[str, int]
    uses_labels: bool
    """Whether any term or topology spread selects pods; otherwise, labels of pods are not used."""
    placements: dict[int, dict[str, Placement]] = field(default_factory=_no_placements)
    """Placements without devices and zones, by status and node; shared by pods."""

    def with_pod_groups(self, pod_groups: Container[str]) -> "PodReferences":
        """Copy of the references with other pod groups."""
        return PodReferences(
            self.nodes,
            self.zones,
            self.shapes,
            pod_groups,
            self.claims,
            self.slots,
            self.uses_labels,
            self.placements,
        )

    @classmethod
    def of(
        cls,
        ranks: dict[str, int],
        nodes: Sequence[Node],
        shapes: Sequence[TaskShape],
        pod_groups: Container[str],
        claims: Mapping[str, int],
        slots: Mapping[str, int],
    ) -> "PodReferences":
        """References to decoded objects; `ranks` maps names of nodes to indices."""
        return cls(
            nodes=ranks,
            zones=[node.numa_zones for node in nodes] if any(node.numa_zones for node in nodes) else (),
            shapes={shape.id: shape for shape in shapes},
            pod_groups=pod_groups,
            claims=claims,
            slots=slots,
            uses_labels=any(
                shape.constraints.depends_on_pods or shape.constraints.prefers_by_pods for shape in shapes
            )
            or any(pods.anti_affinity for node in nodes for pods in node.other_pods),
        )


class _References:
    """Facts that depend on other rows. Few pods have any."""

    def __init__(self, i: int, message: pb.Pod, known: PodReferences, findings: ViolationCollector) -> None:
        claims, nominated = message.resource_claims, message.nominated_node
        self.nominated_node = known.nodes.get(nominated, NOWHERE) if nominated else NOWHERE
        self.claims = _claims(i, claims, known.claims, findings) if claims else ()
        self.labels = tuple(sorted(message.labels.items())) if known.uses_labels else ()
        budgets = message.disruption_budgets
        self.disruption_budgets = _budgets(i, budgets, findings) if budgets else ()


def decode_pods(
    rows: Sequence[PodRow], known: PodReferences, findings: ViolationCollector
) -> list[TaskFacts]:
    """Facts about each pod.

    The node of a pod whose status needs none is ignored, and so is a nominated node that does not exist.
    """
    shapes, pod_groups = known.shapes, known.pod_groups
    pods = []
    for i, row in enumerate(rows):
        findings.step()
        row.pod_group = intern(row.pod_group)  # one text for all pods of a pod group
        shape = shapes.get(row.shape, NO_SHAPE)
        if shape is NO_SHAPE or row.pod_group not in pod_groups:
            _check_references(i, row, shape, pod_groups, findings)
        message = pb.Pod.FromString(row.more) if row.more else None
        placement = OFF_NODE.get(row.status) or _placement(i, row, message, shape, known, findings)
        references = _NO_REFERENCES if message is None else _References(i, message, known, findings)
        facts = read_pod_facts(
            i,
            row,
            message,
            findings,
            shape=shape,
            placement=placement,
            name=row.name or row.uid,
            sub_group=row.sub_group or DEFAULT_SUB_GROUP,
            nominated_node=references.nominated_node,
            claims=references.claims,
            labels=references.labels,
            disruption_budgets=references.disruption_budgets,
        )
        pods.append(facts)
    return pods


def _check_references(
    i: int, row: PodRow, shape: TaskShape, pod_groups: Container[str], findings: ViolationCollector
) -> None:
    if row.pod_group not in pod_groups:
        unknown = f"there is no pod group with uid {quote_name(row.pod_group)}"
        findings.add(i, "pod_group", unknown if row.pod_group else MISSING)
    if shape is NO_SHAPE:
        unknown = f"there is no shape with id {quote_name(row.shape)}"
        findings.add(i, "shape", unknown if row.shape else MISSING)


def _claims(
    i: int, names: Sequence[str], known: Mapping[str, int], findings: ViolationCollector
) -> tuple[int, ...]:
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        findings.step()
        if name not in known:
            findings.add(i, f"resource_claims[{at}]", f"there is no device claim {quote_name(name)}")
        elif first.setdefault(name, at) != at:
            findings.add(i, f"resource_claims[{at}]", f"{quote_name(name)} is named twice")
    return tuple(sorted(known[name] for name in names if name in known))


def _budgets(i: int, names: Sequence[str], findings: ViolationCollector) -> tuple[str, ...]:
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        findings.step()
        if not name:
            findings.add(i, f"disruption_budgets[{at}]", MISSING)
        elif first.setdefault(name, at) != at:
            findings.add(i, f"disruption_budgets[{at}]", f"{quote_name(name)} is named twice")
    return tuple([intern(name) for name in names])


def _placement(
    i: int,
    row: PodRow,
    message: pb.Pod | None,
    shape: TaskShape,
    known: PodReferences,
    findings: ViolationCollector,
) -> Placement:
    """Placement of a pod with a node. Placements without devices and zones are shared."""
    is_plain = not (shape.gpu.is_shared or known.zones)
    if is_plain:
        met = known.placements.get(row.status)
        placement = None if met is None else met.get(row.node)
        if placement is not None:
            return placement
    if not check_enum(row.status, KNOWN_STATUSES, findings, i, "status"):
        return NO_PLACEMENT
    node = known.nodes.get(row.node, NOWHERE)
    if node == NOWHERE:
        if not row.node:
            findings.add(i, "node", NODE_MISSING)
        return LEFT_OUT
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


def _check_groups(i: int, groups: Sequence[str], devices: int, findings: ViolationCollector) -> None:
    if len(groups) != devices:
        problem = f"must name the {devices} shared devices that the pod uses, not {len(groups)}"
        findings.add(i, "gpu_groups", problem)
    first: dict[str, int] = {}
    for at, group in enumerate(groups):
        findings.step()
        if not group:
            findings.add(i, f"gpu_groups[{at}]", MISSING)
        elif first.setdefault(group, at) != at:
            findings.add(i, f"gpu_groups[{at}]", f"{quote_name(group)} is named twice")


_NO_REFERENCES: Final = _References(
    0, pb.Pod(), PodReferences.of({}, (), (), (), {}, {}), ViolationCollector("pods")
)
