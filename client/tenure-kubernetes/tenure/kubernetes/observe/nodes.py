"""Nodes (semantics R1.15, R1.28, R1.32).

Pods without a row, such as those of other schedulers, use resources of their node. These are subtracted from
the node, so that no pod is placed there, no pod is evicted for them, and queues do not share them (semantics
R4.1).

A server rejects a snapshot with too many resource names. Pods can name any resource, so only resources that
some node offers are sent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.constraints.affinity import EFFECTS
from tenure.kubernetes.constraints.other_pods import ForeignPods
from tenure.kubernetes.devices.node_devices import NodeDevices
from tenure.kubernetes.limits.set_aside import SetAsideReason, SetAsideTable, unexpected
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import Condition, ObjectMeta, cluster_reference
from tenure.kubernetes.objects.node import Node as NodeObject
from tenure.kubernetes.objects.node import Taint as TaintObject
from tenure.kubernetes.objects.resource_amounts import (
    MAX_REQUEST,
    Amounts,
    clamp,
    is_extended,
    read_amounts,
    subtract,
    to_resources,
)
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.rows.row_table import RowTable, WarningCollector
from tenure.kubernetes.volumes.attach_limits import AttachLimits
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import SenderLimits

MAX_NAMES: Final = 200
"""Resource names that are sent, of the 256 of a snapshot: four are its own, others are device classes."""


class OfferedResources:
    """Extended resources of each node."""

    def __init__(self) -> None:
        self._of_node: dict[str, frozenset[str]] = {}
        self._nodes: Counter[str] = Counter()
        """Number of nodes with each resource."""
        self.names: frozenset[str] = frozenset()
        """Resource names; if there are too many, the first ones of each node, then those of many nodes."""

    def put(self, node: str, resources: Iterable[str]) -> None:
        """Set the resources of a node. None: it is gone or not managed."""
        before = self._of_node.pop(node, frozenset())
        now = frozenset(filter(is_extended, resources))
        if now:
            self._of_node[node] = now
        self._nodes.update(now - before)
        self._nodes.subtract(before - now)
        for name in before - now:
            if not self._nodes[name]:
                del self._nodes[name]

    def update(self) -> bool:
        """Update `names`. Returns whether they changed."""
        before, self.names = self.names, frozenset(self._nodes)
        if len(self.names) > MAX_NAMES:
            self.names = frozenset(self._chosen())
        return self.names != before

    def _chosen(self) -> list[str]:
        """Names by their place on the node where it is lowest: no node can displace those of others."""
        places: dict[str, int] = {}
        for of_node in self._of_node.values():
            for place, name in enumerate(sorted(of_node)):
                places[name] = min(place, places.get(name, place))
        return sorted(places, key=lambda name: (places[name], -self._nodes[name], name))[:MAX_NAMES]

    @property
    def is_full(self) -> bool:
        """Whether some names may be omitted."""
        return len(self.names) == MAX_NAMES


class NodeRows:
    """Rows of the nodes of a node pool."""

    def __init__(
        self,
        cache: ObjectCache[NodeObject],
        config: SnapshotScope,
        attach_limits: AttachLimits,
        devices: NodeDevices,
        warnings: WarningCollector,
        set_aside: SetAsideTable,
        limits: SenderLimits,
    ) -> None:
        self._attach_limits, self._devices = attach_limits, devices
        self._cache, self._config = cache, config
        self._warnings, self._set_aside, self._limits = warnings, set_aside, limits
        self.table: RowTable[pb.Node] = RowTable()
        """Rows by name."""
        self.offered = OfferedResources()
        self._names: dict[str, str] = {}
        """Names of nodes, by uid."""
        self.uids: dict[str, str] = {}
        """Uids of nodes, by name."""
        self.managed: frozenset[str] = frozenset()
        """Names of the nodes of the node pool."""

    def use_limits(self, limits: SenderLimits) -> None:
        """Use other limits for nodes that are read from now on."""
        self._limits = limits

    def take_changes(self) -> set[str]:
        """Names of nodes that changed since the last call. Updates the resources that they offer."""
        concerned, changed = set[str](), self._cache.take_changes()
        for uid in sorted(changed, key=lambda uid: self._cache.find(uid) is not None):
            node = self._cache.find(uid)
            name = node.metadata.name if node else self._names.get(uid, "")
            concerned.add(name)
            if node is not None:
                self._names[uid], self.uids[name] = name, uid
            elif self._names.pop(uid, None) is not None and self.uids.get(name) == uid:
                del self.uids[name]
        if concerned:
            found = {name for name in concerned if self._find(name) is not None}
            self.managed = (self.managed - concerned) | found
        if self._attach_limits.update():
            concerned.update(self.uids)
        concerned |= self._attach_limits.take_changes()
        for name in concerned:
            node = self._find(name)
            self._devices.put(name, node.status.allocatable if node else {})
        self.offer(concerned)
        return concerned

    def offer(self, concerned: Iterable[str]) -> None:
        """Update the resources that nodes offer, which depend on their devices."""
        for name in concerned:
            node = self._find(name)
            more = (*self._attach_limits.offer(name), *self._devices.amounts(name))
            self.offered.put(name, (*node.status.allocatable, *more) if node else ())

    def read(self, name: str, foreign: ForeignPods) -> None:
        """Update the row of a node. `foreign` are the pods without a row."""
        node, warnings = self._find(name), list[str]()
        row, problem = self._row(node, foreign, warnings) if node is not None else (None, "")
        if problem:
            warnings.append(f"set aside, so that no pod is placed on it: {problem}")
        meta = node.metadata if node is not None else ObjectMeta(name=name)
        self._set_aside.put(f"node {name}", cluster_reference("v1", "Node", meta), SetAsideReason(problem))
        self.table.put(name, row)
        self._warnings.replace(f"node {name}", f"Node {name}", warnings)

    def _find(self, name: str) -> NodeObject | None:
        """A node of the node pool, by name."""
        node = self._cache.find(self.uids.get(name, ""))
        return node if node is not None and self._config.has(node.metadata.labels) else None

    def _row(self, node: NodeObject, foreign: ForeignPods, warnings: list[str]) -> tuple[pb.Node | None, str]:
        """The row of a node, and why it is set aside.

        Such a node is sent without labels, and takes no pods. Pods on it still have a node, so that none of
        their pod group is evicted.
        """
        row = pb.Node()
        try:
            name = node.metadata.name
            more = {**self._attach_limits.offer(name), **self._devices.amounts(name)}
            row = node_row(node, more, foreign.on(node.metadata.name), self.offered, warnings)
            row.other_pods.extend(foreign.rows(node.metadata.name))
            self._devices.add_to(row)
            problem = self._limits.problem(row)
        except Exception as error:  # an object with invalid values must not stop the others
            problem = unexpected(error)
        if not problem:
            return row, ""
        closed = pb.Node(name=node.metadata.name, allocatable=row.allocatable, unschedulable=True)
        return (None if self._limits.problem(closed) else closed), problem


_STRATEGIES: Final = {"single": pb.MIG_STRATEGY_SINGLE, "mixed": pb.MIG_STRATEGY_MIXED}
_MUST_BE_FALSE: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_BYTES_FROM: Final = 2**20
"""GPU memory labels from this value on are in bytes, not in MiB."""
_MOST_DIGITS: Final = 16
_MIB: Final = 2**20
_STEP: Final = 100
_MOST: Final = MAX_REQUEST - 1


def node_row(
    node: NodeObject,
    more: Amounts,
    foreign_usage: Iterable[Amounts],
    offered: OfferedResources,
    warnings: list[str],
) -> pb.Node:
    """The row of a node. `more`: volumes it attaches, and what its devices serve.

    `foreign_usage` is that of pods without a row.
    """
    labels = node.metadata.labels
    amounts = {**read_amounts(node.status.allocatable, warnings), **more}
    allocatable = subtract(_merge_offered(amounts, offered, warnings), foreign_usage)
    return pb.Node(
        name=node.metadata.name,
        labels={**labels, names.NODE_NAME_FIELD: node.metadata.name},
        allocatable=to_resources(allocatable, with_pods=True),
        gpu_memory_mib=_gpu_memory(labels, warnings),
        taints=[_taint(taint, warnings) for taint in node.spec.taints if taint.key],
        unschedulable=node.spec.unschedulable,
        unready_conditions=sorted({_unready(condition) for condition in node.status.conditions} - {""}),
        mig_strategy=_STRATEGIES.get(labels.get(names.MIG_STRATEGY_LABEL, ""), pb.MIG_STRATEGY_UNSPECIFIED),
        node_class=next(filter(None, map(labels.get, names.NODE_CLASS_LABELS)), None) or "",
    )


def _merge_offered(amounts: Amounts, offered: OfferedResources, warnings: list[str]) -> Amounts:
    """Resources of a node within the limits of a snapshot for names and amounts."""
    known = {name: n for name, n in amounts.items() if name in offered.names or not is_extended(name)}
    if len(known) < len(amounts) and offered.is_full:
        warnings.append(
            f"nodes have more than {MAX_NAMES} resources: {len(amounts) - len(known)} are omitted"
        )
    warnings.extend(f"{name}: {n} is read as {_MOST}" for name, n in sorted(known.items()) if n > _MOST)
    return clamp(known, _MOST)


def _gpu_memory(labels: Mapping[str, str], warnings: list[str]) -> int:
    """MiB of one GPU in whole steps; 0: unknown."""
    text = labels.get(names.GPU_MEMORY_LABEL, "")
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        warnings.append(f"label {names.GPU_MEMORY_LABEL}: {text!r} is not a number of MiB")
        return 0
    memory = int(text)
    if memory >= _BYTES_FROM:
        memory //= _MIB
    return memory // _STEP * _STEP if memory < _BYTES_FROM else 0


def _taint(taint: TaintObject, warnings: list[str]) -> pb.Taint:
    """Taints. An unknown effect keeps pods off."""
    effect = EFFECTS.get(taint.effect, pb.TAINT_EFFECT_UNSPECIFIED)
    if effect == pb.TAINT_EFFECT_UNSPECIFIED:
        warnings.append(f"taint {taint.key}: unknown effect {taint.effect!r} is read as NoSchedule")
        effect = pb.TAINT_EFFECT_NO_SCHEDULE
    return pb.Taint(key=taint.key, value=taint.value, effect=effect)


def _unready(condition: Condition) -> str:
    """Why a condition makes the node unready; "": it does not."""
    if condition.type == "Ready" and condition.status != "True":
        return "NotReady"
    if condition.type in _MUST_BE_FALSE and condition.status != "False":
        return condition.type
    return ""
