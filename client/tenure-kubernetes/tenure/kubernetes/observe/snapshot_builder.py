"""Snapshots of an observed cluster, and their deltas.

    object caches ──changes──► members ──► pod groups ──► pods, shapes ──► nodes (less other pods)

A row depends on the objects only, never on their order of arrival: an updated builder and a new one return
the same rows.
"""

from collections.abc import Iterable
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.limits.server_refusals import POD_GROUPS, PODS, list_of, reason_of
from tenure.kubernetes.limits.set_aside import SetAsideReason, SetAsideTable
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.observe.disruption_budgets import DisruptionBudgetRows
from tenure.kubernetes.observe.finished_runs import FinishedRuns
from tenure.kubernetes.observe.members import Members
from tenure.kubernetes.observe.nodes import NodeRows
from tenure.kubernetes.observe.pod_group_table import LOST, PodGroupTable
from tenure.kubernetes.observe.queues import QueueObject, build_queue_rows, queue_objects, queue_references
from tenure.kubernetes.observe.snapshot_scope import (
    Priorities,
    SnapshotScope,
    labelled_queues,
    read_topologies,
)
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.kubernetes.observe.workload_rows import WorkloadRows, pod_group_key
from tenure.kubernetes.owners.chains import NoOwnerLookup, OwnerLookup
from tenure.kubernetes.rows.row_table import RowTable, WarningCollector
from tenure.kubernetes.volumes.pod_volumes import PodVolumes
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.state_pb2 import SetAsideRows, StateDelta
from tenure.wire.row_limits import SenderLimits

_SECOND = 10**9
_SOON = 10.0
_SELDOM = 200.0
"""Seconds until owners are looked up again: if pods wait for them, and if only their names are known."""
_PAUSE = 1.0
"""Seconds between two pages of lists of owners, where nothing else happens."""


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
        limits: SenderLimits = SenderLimits(),  # noqa: B008 (immutable)
    ) -> None:
        self._caches, self._config, self._limits = caches, config, limits
        self._has_new_limits = False
        self._refused: set[tuple[str, str]] = set()
        """Lists and keys of rows that the server set aside since the last delta."""
        self._named_by_server: set[str] = set()
        """Keys of the warnings about other rows that the server set aside."""
        self._groups = PodGroupTable(caches, config, stored)
        self._owners = owners or NoOwnerLookup()
        self._members = Members(self._groups.by_name, config, self._owners)
        self.queues: RowTable[pb.Queue] = RowTable()
        self._topologies: RowTable[pb.Topology] = RowTable()
        self._version = 0
        self._recheck_seconds: float | None = None
        """When owners should be looked up again, or the pause after a refused binding ends; None: never."""
        self._refused_kinds: set[str] = set()
        """Kinds of owners with a warning."""
        self._retry_at: float | None = None
        """When to look up owners that are unknown or only known by name."""
        self.warnings = WarningCollector()
        self.set_aside = SetAsideTable()
        """Objects that are not scheduled, and why."""
        self.volumes, self.claims = PodVolumes(caches), PodClaims(caches, config.scheduler_name)
        self._budgets = DisruptionBudgetRows(caches, config.has_budgets)
        of_objects = (self.warnings, self.set_aside, limits)
        self._nodes = NodeRows(*(caches.nodes, config, self.volumes.limits, self.claims.nodes), *of_objects)
        self._groups.has_node = lambda name: name in self._nodes.managed
        self._workloads = WorkloadRows(
            *(self._groups, self._members, self._nodes.offered, *of_objects),
            *(caches.bound_to, caches.binding_backoff, self.volumes, self.claims, self._budgets),
        )
        self._pod_groups, self._pods = self._workloads.pod_groups, self._workloads.pods
        self.finished_runs = FinishedRuns(self._members, self._pod_groups.rows, self.queues.rows)

    @property
    def recheck_seconds(self) -> float | None:
        """When time alone may change rows, or devices are to be freed, in seconds since 1970; None: never."""
        times = (self._recheck_seconds, self.claims.next_change_seconds)
        return min((one for one in times if one is not None), default=None)

    def use_limits(self, limits: SenderLimits) -> None:
        """Check all objects with other limits at the next call of `snapshot` or `delta`."""
        if limits != self._limits:
            self._limits, self._has_new_limits = limits, True
            self._workloads.use_limits(limits)
            self._nodes.use_limits(limits)

    def on_set_aside(self, rows: SetAsideRows) -> None:
        """The server set these rows aside, and no others: the next delta removes them."""
        before, self._named_by_server = self._named_by_server, set()
        for row in (row for row in rows.rows if not row.dependent):
            name, reason = list_of(row), reason_of(row)
            if name in (PODS, POD_GROUPS) and self._workloads.refuse(name, row.key, reason):
                self._refused.add((name, row.key))
                self._recheck_seconds = 0.0
            else:
                key = f"server {name} {row.key}"
                self._named_by_server.add(key)
                self.warnings.replace(key, f"{name} {row.key!r}", [reason])
        for key in before - self._named_by_server:
            self.warnings.replace(key, "", [])

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
        delta.base.version, self._version = self._version, self._version + 1
        for name, table in self._tables():
            upserts, removes = table.take_changes()
            getattr(delta.upserts, name).extend(upserts)
            getattr(delta.removals, name).extend(removes)
        return delta

    def subject(self, pod_group: str) -> ObjectReference | None:
        """The object with the annotations and conditions of a pod group; None: it is derived."""
        return self._groups.by_name.subject(pod_group)

    def pod_group(self, uid: str) -> pb.PodGroup | None:
        """Row of a pod group. Do not change it."""
        return self._pod_groups.rows.get(uid)

    def pod(self, uid: str) -> pb.Pod | None:
        """Row of a pod; None: it is not scheduled, or its pod group has no row. Do not change it."""
        return self._pods.pods.rows.get(uid)

    def queue(self, name: str) -> pb.Queue | None:
        """Row of a queue. Do not change it."""
        return self.queues.rows.get(name)

    def has_node(self, name: str) -> bool:
        """Whether a node has a row."""
        return name in self._nodes.table.rows

    def queue_objects(self) -> Iterable[QueueObject]:
        """Queues whose status describes this node pool."""
        return queue_objects(self._caches, self._config, self.queues.rows, self.set_aside)

    def owns(self, pod_group: str) -> bool:
        """Whether a pod group has a row, and not only pods of other schedulers."""
        return pod_group in self._pod_groups.rows and not self._members.is_foreign(
            self._groups.by_name.reference(pod_group)
        )

    def is_set_aside(self, pod_group: str) -> bool:
        """Whether the object of a pod group is set aside, also if it has a row for its pods on nodes."""
        return pod_group_key(pod_group) in self.set_aside.objects

    def pods_of(self, pod_group: str) -> list[str]:
        """Uids of the pods of a pod group, in order, without those that are set aside alone."""
        return [uid for uid in self._members.of_group(pod_group) if uid not in self.set_aside.objects]

    def _tables(self) -> Iterable[tuple[str, RowTable[Any]]]:
        return (
            ("nodes", self._nodes.table),
            ("queues", self.queues),
            ("pod_groups", self._pod_groups),
            ("pods", self._pods.pods),
            ("shapes", self._pods.shapes),
            ("topologies", self._topologies),
            ("resource_claims", self.claims.rows.table),
            ("disruption_budgets", self._budgets.table),
        )

    def _catch_up(self, now: Timestamp) -> None:
        """Update all rows from the object caches, and with time."""
        seconds = now.ToNanoseconds() / _SECOND
        groups, moved = self._groups.by_name.take_changes()
        pods = self._members.missing.begin(seconds)
        pods |= self._caches.pods.take_changes() | self._members.naming(moved) | self._members.pending
        is_new, self._has_new_limits = self._has_new_limits, False
        if self._retry_at is not None and seconds >= self._retry_at:
            pods |= self._members.undetermined
            self._retry_at = None
        if changed := self._owners.begin():
            pods |= self._members.with_owners(changed)
        for uid in pods:
            groups |= self._members.put(uid, pod := self._caches.pods.find(uid))
            for one in (self.volumes, self.claims, self._budgets):
                one.put(uid, pod)
        self._warn_of_refused_kinds()
        due = self._workloads.take_due(now)
        nodes = self._nodes.take_changes()
        of_claims = self.claims.take_changes(self._nodes.managed, seconds)
        if of_claims.all_nodes:
            nodes.update(self._nodes.uids)
            self._nodes.offer(self._nodes.uids)
        if of_claims.all_gpu_pods:
            pods |= self._members.with_gpus()
        groups |= self._members.groups_of(of_claims.pods)
        pods |= of_claims.pods | self.volumes.take_changes(nodes, self._nodes.uids.keys(), seconds)
        pods |= self._budgets.take_changes()
        if self._nodes.offered.update():
            nodes.update(self._nodes.uids)
            pods |= self._members.with_extended_requests()
        if self._read_queues(is_new) | self._read_context(is_new):
            groups |= {*self._groups.by_name.objects(), *self._members.pod_groups()}
        pods |= due | {uid for name, uid in self._refused if name == PODS}
        groups |= {uid for name, uid in self._refused if name == POD_GROUPS}
        self._refused.clear()
        if is_new:
            pods.update(self._members.by_uid)
            nodes.update(self._nodes.uids)
        self._workloads.read(groups, pods, now)
        self.finished_runs.update(groups, seconds)
        self._update_queues()
        self.claims.update_rows(self._pods.pods.rows.get, self._pods.pods.changed)
        self._budgets.update_rows(self._pods.pods.rows.get, self._pods.pods.changed)
        self.claims.warn(self.warnings)
        self._plan_recheck(seconds)
        foreign = self._workloads.foreign_pods
        for name in nodes | foreign.take_changes() | self.volumes.limits.take_changes():
            self._nodes.read(name, foreign)

    def _update_queues(self) -> None:
        """Update the rows of queues, which depend on the pod groups that are in them."""
        lost = self._groups.queue_of_lost
        is_due = (LOST in self.queues.rows) != (lost is not None)
        rows = self._groups.users.take_new_rows(self._pod_groups, is_due=is_due)
        if rows is not None:
            self.queues.replace({**rows, LOST: lost} if lost is not None else rows)

    def _plan_recheck(self, seconds: float) -> None:
        """Schedule the next lookup of owners, soon while pods wait for them, and the end of a pause."""
        if self._members.pending:
            self._retry_at = seconds + _SOON
        elif not self._members.undetermined:
            self._retry_at = None
        elif self._retry_at is None:
            self._retry_at = seconds + _SELDOM
        wait = self._owners.wait()
        of_owners = None if wait is None else seconds + max(wait, _PAUSE)
        of_bindings = (self._caches.binding_backoff.next_end_seconds, self.volumes.recheck_seconds(seconds))
        of_devices = self._caches.device_waits.next_change_seconds
        of_missing = self._members.missing.next_end_seconds
        times = (self._retry_at, of_owners, *of_bindings, of_devices, of_missing)
        self._recheck_seconds = min((moment for moment in times if moment is not None), default=None)

    def _warn_of_refused_kinds(self) -> None:
        """One warning for each kind of owners that may not be read, however many pods have one."""
        refused = self._owners.refused_kinds()
        for kind in self._refused_kinds - refused.keys():
            self.warnings.replace(f"owner kind {kind}", "", [])
        for kind, reason in refused.items():
            text = f"{reason}: gangs, queues and preemptibility of its pods are unknown"
            self.warnings.replace(f"owner kind {kind}", f"kind {kind}", [text])
        self._refused_kinds = set(refused)

    def _read_context(self, is_new: bool) -> bool:
        """Read priority classes, topologies and namespaces. Returns whether to update all pod groups.

        `is_new` is whether there are new limits.
        """
        classes, topologies = self._caches.priority_classes, self._caches.topologies
        workloads, before = self._workloads, self._workloads.context
        changed = {*classes.take_changes(), *topologies.take_changes()}
        if changed or is_new:
            levels = read_topologies(topologies, self._topologies, self.set_aside, changed, self._limits)
            priorities = Priorities.of(classes.all(), self._config.priority_classes)
            workloads.context = workloads.context._replace(priorities=priorities, levels=levels)
        if self._caches.namespaces.take_changes():
            labelled = labelled_queues(self._caches.namespaces.all())
            workloads.context = workloads.context._replace(labelled_queues=labelled)
        return workloads.context != before or is_new

    def _read_queues(self, is_new: bool) -> bool:
        """Read queues. Returns whether there are other leaf queues than before."""
        kai, volcano = self._caches.kai_queues, self._caches.volcano_queues
        changed = kai.take_changes() | volcano.take_changes()
        before = self._workloads.context.leaf_queues
        if changed or is_new:
            teams, problems = build_queue_rows(self._caches, self._config, self.warnings, self._limits)
            self._groups.users.use_teams(teams, self._limits.max_rows.of("queues"))
            self._workloads.context = self._workloads.context._replace(leaf_queues=teams.leaves)
            for one in queue_references(self._caches):
                self.set_aside.put(f"queue {one.uid}", one, SetAsideReason(problems.get(one.uid, "")))
        for uid in changed:
            if self._caches.kai_queues.find(uid) is None and self._caches.volcano_queues.find(uid) is None:
                self.warnings.replace(uid, "", [])
                self.set_aside.discard(f"queue {uid}")
        return self._workloads.context.leaf_queues != before
