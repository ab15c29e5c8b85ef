"""Sort the rows of a snapshot into those that stay and those that are set aside.

What pods that are set aside use on a node is not available to others.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tenure.codec.pods import OFF_NODE
from tenure.solver.model.resources import FIXED_SLOTS, WHOLE_GPU
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import Resources
from tenure.wire.columns import to_pods
from tenure.wire.deltas import COLUMNS, KEY_FIELDS, KEYS
from tenure.wire.limits import MAX_AMOUNT, MAX_DEVICES
from tenure.wire.violations import FieldViolation, SnapshotValidationError

_ROW: Final = re.compile(rf"({'|'.join((*KEY_FIELDS, COLUMNS))})\[(\d+)\]")


class SetAsideEntry(NamedTuple):
    """One row that is set aside."""

    field: str
    """Path of the row."""
    key: str
    violations: list[FieldViolation]
    is_dependent: bool


class RowSorter:
    """Rows of one snapshot. Pods in columns count as pods after the others."""

    def __init__(self, snapshot: pb.ClusterSnapshot) -> None:
        self._own_pods = len(snapshot.pods)
        """Pods that are not in columns."""
        self._snapshot = to_pods(snapshot) if snapshot.pod_columns.uid else snapshot
        self._rows: dict[str, list[Any]] = {name: list(getattr(self._snapshot, name)) for name in KEY_FIELDS}
        self._gone: dict[str, dict[int, list[FieldViolation]]] = {name: {} for name in KEY_FIELDS}
        self._dependents: set[tuple[str, int]] = set()
        self._kept = {name: list(range(len(rows))) for name, rows in self._rows.items()}
        """Positions of the rows that stay, by list: what violations of the rest count by."""
        self._closed_nodes: set[int] = set()
        """Positions of nodes that stay in another form."""
        nodes = self._rows["nodes"]
        self._first_node = {nodes[i].name: i for i in range(len(nodes) - 1, -1, -1)}

    def set_aside(self, violations: Iterable[FieldViolation]) -> None:
        """Set the rows of violations aside, and rows that depend on them.

        Raises SnapshotValidationError with all violations if one is not of a row that is left.
        """
        found = [*violations]
        for violation in found:
            place = self._place(violation)
            if place is None:
                raise SnapshotValidationError(found)
            name, position, inner = place
            field = f"{self._path(name, position)}{inner}"
            self._gone[name].setdefault(position, []).append(violation._replace(field=field))
        self._add_dependents()
        for name, rows in self._rows.items():
            gone = self._gone[name]
            self._kept[name] = [i for i in range(len(rows)) if i not in gone or self._closed(name, i)]
        self._closed_nodes = {i for i in self._gone["nodes"] if self._closed("nodes", i)}

    def rest(self) -> pb.ClusterSnapshot:
        """The snapshot without the rows that are set aside."""
        whole = self._snapshot
        rest = pb.ClusterSnapshot(
            cluster_id=whole.cluster_id, node_pool=whole.node_pool, version=whole.version
        )
        if whole.HasField("now"):
            rest.now.CopyFrom(whole.now)
        for name in KEY_FIELDS:
            if name != "nodes":
                getattr(rest, name).extend([self._rows[name][i] for i in self._kept[name]])
        users, shapes = self._users(), self._shapes()
        for i in self._kept["nodes"]:
            sent: pb.Node = self._rows["nodes"][i]
            row = (closed_node(sent) if i in self._gone["nodes"] else sent) or sent
            pods = users.get(row.name)
            rest.nodes.append(reduced_node(row, pods, shapes) if pods else row)
        return rest

    def gone(self) -> pb.ClusterSnapshot:
        """Rows that are set aside, and nodes that stay in another form, as they were sent."""
        gone = pb.ClusterSnapshot()
        for name, rows in self._rows.items():
            if name != "nodes":
                getattr(gone, name).extend([rows[i] for i in sorted(self._gone[name])])
        nodes = self._rows["nodes"]
        changed = {*self._users(), *(nodes[i].name for i in self._gone["nodes"])}
        gone.nodes.extend([node for node in nodes if node.name in changed])
        return gone

    def entries(self) -> Iterator[SetAsideEntry]:
        """Rows that are set aside, in the order of lists and rows."""
        for name, gone in self._gone.items():
            for position in sorted(gone):
                key = KEYS[name](self._rows[name][position])
                text = key if isinstance(key, str) else " for ".join(key)
                is_dependent = (name, position) in self._dependents
                yield SetAsideEntry(self._path(name, position), text, gone[position], is_dependent)

    def _place(self, violation: FieldViolation) -> tuple[str, int, str] | None:
        """List and position of the row of a violation, and the rest of the path."""
        found = _ROW.match(violation.field)
        if found is None:
            return None
        name, index, inner = found[1], int(found[2]), violation.field[found.end() :]
        if name == COLUMNS:
            name, index = "pods", index + self._own_pods
        kept = self._kept[name]
        if index >= len(kept) or (name == "nodes" and kept[index] in self._closed_nodes):
            return None  # what is in their place has no violations
        return name, kept[index], inner

    def _path(self, name: str, position: int) -> str:
        if name == "pods" and position >= self._own_pods:
            return f"{COLUMNS}[{position - self._own_pods}]"
        return f"{name}[{position}]"

    def _closed(self, name: str, position: int) -> bool:
        """Whether the row is a node that stays: no other node has its name."""
        if name != "nodes":
            return False
        row = self._rows[name][position]
        return closed_node(row) is not None and self._first_node[row.name] == position

    def _add_dependents(self) -> None:
        """Set aside what depends on rows that are set aside, until nothing is added."""
        while any(self._add(name, references) for name, references in _REFERENCES.items()):
            pass

    def _add(self, name: str, references: "Mapping[str, _Reference]") -> bool:
        """Set aside rows of a list that refer to rows that are set aside. Returns whether there are any."""
        lost = {field: (other, self._lost(other), keys) for field, (other, keys) in references.items()}
        added = False
        for i, row in enumerate(self._rows[name]):
            if i in self._gone[name]:
                continue
            for field, (other, missing, keys) in lost.items():
                if missing and not missing.isdisjoint(keys(row)):
                    path = f"{self._path(name, i)}.{field}"
                    problem = f"depends on a row of {other} that is set aside"
                    self._gone[name][i] = [FieldViolation(path, problem)]
                    self._dependents.add((name, i))
                    added = True
                    break
        return added

    def _lost(self, name: str) -> set[str]:
        """Keys that no row has any more; of pods, the pod groups of those on nodes."""
        rows, gone = self._rows[name], self._gone[name]
        if name == "pods":
            return {rows[i].pod_group for i in gone if _is_on_node(rows[i])}
        lost = {KEYS[name](rows[i]) for i in gone}
        return lost - {KEYS[name](row) for i, row in enumerate(rows) if i not in gone} if lost else lost

    def _users(self) -> dict[str, list[pb.Pod]]:
        """Pods that are set aside and use a node, by its name."""
        users: defaultdict[str, list[pb.Pod]] = defaultdict(list)
        for i in self._gone["pods"]:
            row = self._rows["pods"][i]
            if _is_on_node(row):
                users[row.node].append(row)
        return users

    def _shapes(self) -> dict[str, pb.PodShape]:
        return {shape.id: shape for shape in reversed(self._rows["shapes"])}


def _is_on_node(pod: pb.Pod) -> bool:
    """Whether a pod uses a node; with an unknown status, it may."""
    return bool(pod.node) and int(pod.status) not in OFF_NODE


def _topologies(row: pb.PodGroup) -> set[str]:
    constraints = [row.topology_constraint, *(group.topology_constraint for group in row.sub_groups)]
    return {constraint.topology for constraint in constraints} - {""}


_Reference = tuple[str, Callable[[Any], Iterable[str]]]
"""A list, and the keys of its rows that a row refers to."""
_REFERENCES: Final[Mapping[str, Mapping[str, _Reference]]] = {
    "queues": {"parent": ("queues", lambda row: (row.parent,))},
    "pod_groups": {
        "topology_constraint": ("topologies", _topologies),
        "uid": ("pods", lambda row: (row.uid,)),
    },
    "pods": {
        "pod_group": ("pod_groups", lambda row: (row.pod_group,)),
        "shape": ("shapes", lambda row: (row.shape,)),
        "resource_claims": ("resource_claims", lambda row: row.resource_claims),
    },
}
"""What rows depend on, by list and field. Pod groups depend on their pods that are on nodes."""


_MAX_NAME: Final = 253
_NUMBERS: Final = ("cpu_milli", "memory_bytes", "gpu_milli", "pods")


def closed_node(node: pb.Node) -> pb.Node | None:
    """The node in a form that is valid and takes no pods; None: its name is invalid.

    Pods on it keep their node, so that no pod group looks incomplete.
    """
    if not 0 < len(node.name) <= _MAX_NAME:
        return None
    closed = pb.Node(name=node.name, unschedulable=True)
    _copy(node.allocatable, closed.allocatable)
    return closed


def reduced_node(node: pb.Node, pods: Iterable[pb.Pod], shapes: Mapping[str, pb.PodShape]) -> pb.Node:
    """The node without what these pods use. If that is unknown, it takes no pods."""
    left = pb.Node()
    left.CopyFrom(node)
    for pod in pods:
        shape = shapes.get(pod.shape)
        if shape is None or node.numa_zones or pod.resource_claims:
            left.unschedulable = True
        else:
            _subtract(left.allocatable, shape)
    return left


def _subtract(left: Resources, shape: pb.PodShape) -> None:
    requests = shape.requests
    devices = min(max(shape.gpu.devices, 0), MAX_DEVICES)
    left.cpu_milli = max(left.cpu_milli - max(requests.cpu_milli, 0), 0)
    left.memory_bytes = max(left.memory_bytes - max(requests.memory_bytes, 0), 0)
    left.gpu_milli = max(left.gpu_milli - devices * WHOLE_GPU, 0)
    left.pods = max(left.pods - 1, 0)
    for name, amount in requests.extended.items():
        if name in left.extended:
            left.extended[name] = max(left.extended[name] - max(amount, 0), 0)


def _copy(source: Resources, target: Resources) -> None:
    for name in _NUMBERS:
        setattr(target, name, min(max(getattr(source, name), 0), MAX_AMOUNT))
    for name, amount in source.extended.items():
        if name and name not in FIXED_SLOTS:
            target.extended[name] = min(max(amount, 0), MAX_AMOUNT)
