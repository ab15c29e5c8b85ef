"""Snapshots of an observed cluster, and their deltas.

    object caches ──changes──► members ──► pod groups ──► pods, shapes ──► nodes (less other pods)

A row depends on the objects only, never on their order of arrival: an updated builder and a new one return
the same rows.
"""

from collections.abc import Iterable
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.node import Node
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.members import Members
from tenure.kubernetes.observe.nodes import ForeignUsage, OfferedResources, node_row
from tenure.kubernetes.observe.owners import NoOwnerLookup, OwnerLookup
from tenure.kubernetes.observe.pod_group_table import PodGroupTable, RowContext, TargetObject
from tenure.kubernetes.observe.pod_rows import PodRows
from tenure.kubernetes.observe.pods import ON_NODE, stuck_at, uses_resources
from tenure.kubernetes.observe.queues import build_queue_rows
from tenure.kubernetes.observe.row_table import RowTable, WarningCollector
from tenure.kubernetes.observe.snapshot_scope import (
    Priorities,
    SnapshotScope,
    labelled_queues,
    topology_row,
)
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.state_pb2 import StateDelta

_SECOND = 10**9
_SOON = 10.0
_SELDOM = 200.0
"""Seconds until owners are looked up again: if pods wait for them, and if only their names are known."""


class SnapshotBuilder:
    """Implements ClusterSource for one node pool. For one thread; the object caches may change meanwhile.

    `snapshot` returns all rows, `delta` the rows that changed since the last call of either. Each call
    increases the version. `warnings` are about objects with dubious values.
    """

    def __init__(
        self,
        caches: ObjectCaches,
        config: SnapshotScope,
        owners: OwnerLookup | None = None,
        stored: StoredAnnotations | None = None,
    ) -> None:
        self._caches, self._config = caches, config
        self._groups = PodGroupTable(caches, config, stored)
        self._members = Members(self._groups, config, owners or NoOwnerLookup())
        self._context = RowContext(Priorities(), {}, {}, frozenset())
        self._nodes: RowTable[pb.Node] = RowTable()
        self._queues: RowTable[pb.Queue] = RowTable()
        self._topologies: RowTable[pb.Topology] = RowTable()
        self._pod_groups: RowTable[pb.PodGroup] = RowTable()
        self.refusals: dict[str, str] = {}
        """Why pod groups are set aside whose namespaces may not use their queues, by uid."""
        self._offered = OfferedResources()
        self._pods = PodRows(self._offered)
        self._foreign_usage = ForeignUsage()
        self._names: dict[str, str] = {}
        """Names of nodes, by uid."""
        self._uids: dict[str, str] = {}
        """Uids of nodes, by name."""
        self._stuck_at: dict[str, float] = {}
        """When terminating pods count as stuck, in seconds since 1970."""
        self._version = 0
        self.recheck_seconds: float | None = None
        """When to look up owners again, in seconds since 1970. None: never."""
        self.warnings = WarningCollector()

    def snapshot(self, now: Timestamp) -> pb.ClusterSnapshot:
        """All rows."""
        self._catch_up(now)
        self._version += 1
        snapshot = pb.ClusterSnapshot(
            cluster_id=self._config.cluster_id,
            node_pool=self._config.node_pool,
            version=self._version,
            now=now,
        )
        for name, table in self._tables():
            getattr(snapshot, name).extend(table.all())
        return snapshot

    def delta(self, now: Timestamp) -> StateDelta:
        """Changed rows. The caller sets the epoch of the base."""
        self._catch_up(now)
        delta = StateDelta(version=self._version + 1, now=now)
        delta.base.cluster_id, delta.base.node_pool = self._config.cluster_id, self._config.node_pool
        delta.base.version = self._version
        self._version += 1
        for name, table in self._tables():
            upserts, removes = table.take_changes()
            getattr(delta.upserts, name).extend(upserts)
            getattr(delta.removals, name).extend(removes)
        return delta

    def subject(self, pod_group: str) -> TargetObject | None:
        """The object with the annotations and conditions of a pod group; None: it is derived."""
        return self._groups.subject(pod_group)

    def pod_group(self, uid: str) -> pb.PodGroup | None:
        """Row of a pod group. Do not change it."""
        return self._pod_groups.rows.get(uid)

    def pod(self, uid: str) -> pb.Pod | None:
        """Row of a pod; None: it is not scheduled, or its pod group has no row. Do not change it."""
        return self._pods.pods.rows.get(uid)

    def has_node(self, name: str) -> bool:
        """Whether a node has a row."""
        return name in self._nodes.rows

    def owns(self, pod_group: str) -> bool:
        """Whether a pod group has a row, and not only pods of other schedulers."""
        return pod_group in self._pod_groups.rows and not self._members.is_foreign(
            self._groups.reference(pod_group)
        )

    def pods_of(self, pod_group: str) -> list[str]:
        """Uids of the pods of a pod group, in order."""
        return self._members.of_group(pod_group)

    def _tables(self) -> Iterable[tuple[str, RowTable[Any]]]:
        return (
            ("nodes", self._nodes),
            ("queues", self._queues),
            ("pod_groups", self._pod_groups),
            ("pods", self._pods.pods),
            ("shapes", self._pods.shapes),
            ("topologies", self._topologies),
        )

    def _catch_up(self, now: Timestamp) -> None:
        """Update all rows from the object caches, and with time."""
        seconds = now.ToNanoseconds() / _SECOND
        groups, moved = self._groups.take_changes()
        pods = self._caches.pods.take_changes() | self._members.naming(moved) | self._members.pending
        if self.recheck_seconds is not None and seconds >= self.recheck_seconds:
            pods |= self._members.undetermined
            self.recheck_seconds = None
        for uid in pods:
            groups |= self._members.put(uid, self._caches.pods.find(uid))
        self._plan_recheck(seconds)
        nodes = self._read_nodes()
        if self._offered.update():
            nodes.update(self._uids)
            pods |= self._members.with_extended_requests()
        if self._read_queues() | self._read_context():
            groups |= {*self._groups.objects(), *self._members.pod_groups()}
        pods |= {uid for uid, stuck in self._stuck_at.items() if seconds >= stuck}
        for uid in groups:
            if self._read_group(uid, now):
                pods.update(self._members.of_group(uid))
        for uid in pods:
            self._read_pod(uid, seconds)
        self._pods.relabel(self._members.by_uid)
        for name in nodes | self._foreign_usage.take_changes():
            self._read_node(name)

    def _plan_recheck(self, seconds: float) -> None:
        """Schedule the next lookup of owners: soon while pods wait for them, else rarely."""
        if self._members.pending:
            self.recheck_seconds = seconds + _SOON
        elif not self._members.undetermined:
            self.recheck_seconds = None
        elif self.recheck_seconds is None:
            self.recheck_seconds = seconds + _SELDOM

    def _read_context(self) -> bool:
        """Read priority classes and topologies. Returns whether any changed."""
        classes, topologies = self._caches.priority_classes, self._caches.topologies
        before, context = self._context, self._context
        if {*classes.take_changes(), *topologies.take_changes()}:
            rows = {row.name: row for row in map(topology_row, topologies.all()) if row}
            self._topologies.replace(rows)
            levels = {name: tuple(row.levels) for name, row in rows.items()}
            priorities = Priorities.of(classes.all(), self._config.priority_classes)
            context = context._replace(priorities=priorities, levels=levels)
        if self._caches.namespaces.take_changes():
            context = context._replace(labelled_queues=labelled_queues(self._caches.namespaces.all()))
        self._context = context
        return before != context

    def _read_queues(self) -> bool:
        """Read queues. Returns whether there are other leaf queues than before."""
        changed = self._caches.kai_queues.take_changes() | self._caches.volcano_queues.take_changes()
        before = self._context.leaf_queues
        if changed:
            rows = build_queue_rows(self._caches, self._config, self.warnings)
            self._queues.replace(rows)
            leaves = frozenset(rows.keys() - {row.parent for row in rows.values()})
            self._context = self._context._replace(leaf_queues=leaves)
        for uid in changed:
            if self._caches.kai_queues.find(uid) is None and self._caches.volcano_queues.find(uid) is None:
                self.warnings.replace(uid, "", [])
        return self._context.leaf_queues != before

    def _read_group(self, uid: str, now: Timestamp) -> bool:
        """Update the row of a pod group. Returns whether to update its pods, too."""
        members = [self._members.by_uid[one] for one in self._members.of_group(uid)]
        origin = next((member.origin for member in members if member.origin), None)
        warnings: list[str] = []
        pods = [member.pod for member in members]
        row, refusal = self._groups.row(uid, origin, pods, self._context, now, warnings)
        subject = self._groups.subject(uid)
        if row is None and subject is None and not members:
            self._groups.forget(uid)
        refused = self.refusals.pop(uid, "")
        if refusal:
            self.refusals[uid] = refusal
            warnings.append(refusal)
        name = f"PodGroup {subject.namespace}/{subject.name}" if subject else f"derived pod group {uid}"
        self.warnings.replace(f"pod group {uid}", name, warnings)
        before = self._pod_groups.rows.get(uid)
        self._pod_groups.put(uid, row)
        return _kind(before) != _kind(row) or refused != refusal

    def _read_pod(self, uid: str, now_seconds: float) -> None:
        """Update the row of a pod, or its usage without a row."""
        self._stuck_at.pop(uid, None)
        member = self._members.by_uid.get(uid)
        if member is None:
            self._pods.forget(uid)
            self._foreign_usage.put(uid, "", None)
            self.warnings.replace(uid, "", [])
            return
        pod, warnings = member.pod, list[str]()
        group, refusal = self._pod_groups.rows.get(member.pod_group), self.refusals.get(member.pod_group, "")
        row = self._pods.put(member, group, refusal, now_seconds, warnings)
        status = row.status if row else pb.POD_STATUS_UNSPECIFIED
        if status == pb.POD_STATUS_RELEASING:
            self._stuck_at[uid] = stuck_at(pod)
        is_other = uses_resources(pod) and pod.metadata.namespace != names.RESERVATION_NAMESPACE
        taken = member.interned_shape.usage if is_other and status not in ON_NODE else None
        self._foreign_usage.put(uid, pod.spec.node_name, taken)
        self.warnings.replace(uid, f"Pod {pod.metadata.namespace}/{pod.metadata.name}", warnings)

    def _read_nodes(self) -> set[str]:
        """Read nodes and their resources. Returns the names of changed nodes."""
        nodes, concerned = self._caches.nodes, set[str]()
        changed = nodes.take_changes()
        for uid in sorted(changed, key=lambda uid: nodes.find(uid) is not None):
            node = nodes.find(uid)
            name = node.metadata.name if node else self._names.get(uid, "")
            concerned.add(name)
            if node is not None:
                self._names[uid], self._uids[name] = name, uid
            elif self._names.pop(uid, None) is not None and self._uids.get(name) == uid:
                del self._uids[name]
        for name in concerned:
            node = self._is_managed_node(name)
            self._offered.put(name, node.status.allocatable if node else ())
        return concerned

    def _is_managed_node(self, name: str) -> Node | None:
        """A node of the node pool, by name."""
        node = self._caches.nodes.find(self._uids.get(name, ""))
        return node if node is not None and self._config.has(node.metadata.labels) else None

    def _read_node(self, name: str) -> None:
        node, warnings = self._is_managed_node(name), list[str]()
        row = node_row(node, self._foreign_usage.on(name), self._offered, warnings) if node else None
        self._nodes.put(name, row)
        self.warnings.replace(f"node {name}", f"Node {name}", warnings)


def _kind(row: pb.PodGroup | None) -> tuple[bool, bool]:
    """What rows of pods depend on: whether there is a pod group, and whether it has subgroups."""
    return row is not None, row is not None and bool(row.sub_groups)
