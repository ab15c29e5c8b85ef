"""All pod groups and their rows, of all kinds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_cache import Unreadable
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.limits.user_queues import UserQueues
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.annotations.fields import SETTINGS, read_fields
from tenure.kubernetes.observe.annotations.holds import read_dependencies, read_holds, read_stored_hold
from tenure.kubernetes.observe.annotations.queue_bounds import warn_of_misplaced
from tenure.kubernetes.observe.derived_pod_groups import Origin, derived_row, have_all_ended
from tenure.kubernetes.observe.native_pod_groups import native_pod_group_row, unsupported
from tenure.kubernetes.observe.pod_group_names import (
    KAI,
    NATIVE,
    VOLCANO,
    PodGroupNames,
    Reference,
    reference_of,
)
from tenure.kubernetes.observe.pod_group_rows import (
    Levels,
    UnusablePodGroup,
    kai_pod_group_row,
    limit_start_time,
    read_annotations,
    set_termination_grace,
    volcano_pod_group_row,
)
from tenure.kubernetes.observe.snapshot_scope import Priorities, SnapshotScope
from tenure.kubernetes.observe.stand_ins import (
    PodGroupObject,
    oldest_of,
    place_of_object,
    places_of,
    stand_in_row,
)
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, StoredValues, stored_values
from tenure.kubernetes.observe.wishes import annotations_of, queue_of_workload, read_moves
from tenure.kubernetes.rows.pods import ENDED, is_running, uses_resources
from tenure.kubernetes.rows.row_table import readable
from tenure.v1 import snapshot_pb2 as pb

LOST: Final = "-"
"""Queue of pods on nodes whose queue nothing says. No object has this name, and nothing starts there."""


class RowContext(NamedTuple):
    """Priorities, topologies, labels of namespaces and queues, which rows of all pod groups depend on."""

    priorities: Priorities
    levels: Levels
    labelled_queues: Mapping[str, frozenset[str]]
    """Queues that the labels of a namespace permit, by namespace."""
    leaf_queues: frozenset[str]
    """Queues that can contain pod groups."""


class PodGroupRow(NamedTuple):
    """The row of a pod group, and whether its queue is refused."""

    row: pb.PodGroup | None
    """None: there is none."""
    refusal: str = ""
    """Why its pending pods are not scheduled: its namespace may not use its queue. "": it may."""


def _is_astray(pod: Pod) -> bool:
    """Whether a pod of a derived pod group is on a node and names another pod group, which does not exist."""
    return reference_of(pod) is not None and is_running(pod)


class PodGroupTable:
    """Pod groups by uid. Objects come from the object caches, derived ones from their pods."""

    def __init__(
        self, caches: ObjectCaches, config: SnapshotScope, stored: StoredAnnotations | None = None
    ) -> None:
        self._caches, self._config, self._stored = caches, config, stored
        self.by_name: Final = PodGroupNames(caches, config)
        self._last_queues: dict[str, str] = {}
        """The last permitted queue of each pod group, by uid."""
        self._lost: set[str] = set()
        """Uids of the pod groups in the queue of what is lost."""
        self.users = UserQueues(config.user_queues)
        self._others: set[str] = set()
        """Uids of the objects of other node pools and other schedulers."""
        self.has_node: Callable[[str], bool] = lambda _name: False
        """Whether a node is of the node pool."""

    def blocked(self, uid: str, levels: Levels) -> str:
        """Why pending pods of a pod group wait, though it has a row; "": they do not."""
        group = self._caches.native_pod_groups.find(uid)
        return unsupported(group, levels) if group is not None else ""

    def row(
        self,
        uid: str,
        origin: Origin | None,
        pods: Sequence[Pod],
        around: RowContext,
        now: Timestamp,
        warnings: list[str],
    ) -> PodGroupRow:
        """The row of a pod group with these pods. Raises UnusablePodGroup."""
        self.users.discard(uid)
        self._lost.discard(uid)
        if self.by_name.name_of_gone(uid) is not None and uid not in self._others and pods:
            if not any(map(is_running, pods)):
                return self.stand_in(uid, origin, pods, around, now)
            raise UnusablePodGroup("it was deleted while its pods run: create it again")
        if (unreadable := self._caches.unreadable_pod_group(uid)) is not None:
            if not self._is_here(uid, self._config.has(unreadable.metadata.labels), pods):
                return PodGroupRow(None)
            raise UnusablePodGroup(f"it cannot be read: {readable(unreadable.problem)}")
        if origin is not None and any(map(_is_astray, pods)):
            raise UnusablePodGroup("its pods name a pod group that does not exist")
        row = self._row(uid, origin, pods, around, warnings)
        if row is None:
            return PodGroupRow(None)
        written = self._users_annotations(uid, origin, pods)
        stored = self._read_stored(uid, written, warnings)
        read_annotations(row, stored.values, warnings)
        warn_of_misplaced(written, names.OF_QUEUES, "queues", warnings)
        read_fields(row, SETTINGS, written, warnings)
        read_holds(row, written, now, warnings)
        read_moves(row, self._may_move(uid), written, warnings)
        row.depends_on.extend(self._dependencies(row.namespace, written))
        set_termination_grace(row, pods)
        read_stored_hold(row, stored.values, warnings)
        limit_start_time(row, pods, now, stored.is_signed)
        return self._with_permitted_queue(row, pods, around)

    @property
    def queue_of_lost(self) -> pb.Queue | None:
        """A queue without quota, for pods whose pod group is gone; None: there are none."""
        if not self._lost:
            return None
        none = pb.QueueResource(quota=0, limit=0)
        return pb.Queue(name=LOST, cpu_milli=none, memory_bytes=none, gpu_milli=none)

    def _keep_in_reach(self, row: pb.PodGroup, around: RowContext) -> None:
        """Give pods on nodes a queue if they have none, so that other queues can reclaim them."""
        if around.leaf_queues and self.users.team(row.queue) not in around.leaf_queues:
            row.queue = LOST
            self._lost.add(row.uid)

    def stand_in(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], around: RowContext, now: Timestamp
    ) -> PodGroupRow:
        """The row of a pod group that can have no row of its own, for its pods on nodes.

        There is none for an unreadable object if nothing says its queue: its pods are out of reach.
        """
        there, stored = self._there(uid), self._read_stored(uid, {}, [])
        places = places_of(place_of_object(there) if there is not None else None, origin, pods)
        meta = oldest_of(pods).metadata if there is None else there.metadata
        row = stand_in_row(uid, meta, places, pods, around.priorities)
        if (gone := self.by_name.name_of_gone(uid)) is not None:
            row.name, row.namespace = gone.name, gone.namespace
        read_annotations(row, stored.values, [])
        self._lost.discard(uid)
        named = [self.users.team(row.grant.queue), self._last_queues.get(uid, "")]
        named.append(queue_of_workload(places, self._config.node_pool))
        leaves = (name for name in named if name in around.leaf_queues)
        row.queue = next(leaves, "") or next(filter(None, named), "")
        if not row.queue and isinstance(there, Unreadable):
            return PodGroupRow(None)
        row.queue = row.queue or self._config.default_queue
        row.opt_out_actions.extend(row.grant.opt_out_actions)
        row.min_member = max(row.grant.min_pods, 1)
        limit_start_time(row, pods, now, stored.is_signed)
        permitted = self._with_permitted_queue(row, pods, around)
        if permitted.row is not None:
            self._keep_in_reach(permitted.row, around)
        return permitted

    def _dependencies(self, namespace: str, annotations: Mapping[str, str]) -> Iterator[str]:
        """Uids of the pod groups that an annotation names; the names of those that do not exist."""
        for name in read_dependencies(annotations):
            found = (self.by_name.uid_of(Reference(api, namespace, name)) for api in (KAI, VOLCANO, NATIVE))
            yield next(filter(None, found), name)

    def forget(self, uid: str) -> None:
        """Drop what is remembered of a pod group that is gone."""
        self._last_queues.pop(uid, None)
        self._lost.discard(uid)
        self.by_name.forget_gone(uid)
        self._others.discard(uid)
        if self._stored is not None:
            self._stored.forget(uid)

    def _may_move(self, uid: str) -> bool | None:
        """Whether the field of a KAI pod group lets consolidation move it; None: it says nothing."""
        item = self._caches.kai_pod_groups.find(uid)
        return None if item is None else item.spec.safe_to_consolidate

    def _users_annotations(self, uid: str, origin: Origin | None, pods: Sequence[Pod]) -> Mapping[str, str]:
        """Annotations of an object, else of the owners of a derived pod group and its oldest pod."""
        item = self._caches.pod_group(uid)
        if item is not None:
            return item.metadata.annotations
        return annotations_of(places_of(None, origin, pods))

    def _read_stored(self, uid: str, written: Mapping[str, str], warnings: list[str]) -> StoredValues:
        """Stored annotations of an object, the last known ones of one that is gone.

        A derived pod group has none: the journal stores its values.

        A requeue cooldown that its owners or pods have counts where the journal has none.
        """
        item = self._there(uid)
        if item is None and self._stored is not None and self.by_name.name_of_gone(uid) is not None:
            return self._stored.read(uid, {}, warnings)
        if item is None:
            cooldown = written.get(names.REQUEUE_NOT_BEFORE)
            return StoredValues({names.REQUEUE_NOT_BEFORE: cooldown} if cooldown else {}, False)
        annotations = item.metadata.annotations
        if self._stored is None:
            return StoredValues(stored_values(annotations), True)
        return self._stored.read(uid, annotations, warnings)

    def _with_permitted_queue(self, row: pb.PodGroup, pods: Sequence[Pod], around: RowContext) -> PodGroupRow:
        """A pod group that may not use its queue has no row, unless pods of it run. Users have their own."""
        is_running = any(map(uses_resources, pods))
        refusal = self._refuse_queue(row, is_running, around)
        if is_running or not refusal:
            problem = self.users.assign(row, pods, is_running)
            refusal = refusal or problem
        return PodGroupRow(row if is_running or not refusal else None, refusal)

    def _refuse_queue(self, row: pb.PodGroup, is_running: bool, around: RowContext) -> str:
        """Why a namespace may not use the queue of a pod group; "": it may.

        While pods of it run, they count in the last queue that it could use: naming a queue that is forbidden
        or missing protects no pod, and charges no other queue.
        """
        labelled = around.labelled_queues.get(row.namespace, frozenset())
        if (granted := self.users.team(row.grant.queue)) in around.leaf_queues:
            self._last_queues.setdefault(row.uid, granted)
        last, refusal = self._last_queues.get(row.uid, ""), ""
        if self.users.names(row.queue):
            refusal = f"queue {row.queue!r} is that of a user: name the queue of the team"
        elif not self._config.queue_access.permits(row.queue, row.namespace, labelled):
            refusal = f"namespace {row.namespace} may not use queue {row.queue!r}"
        elif row.queue in around.leaf_queues:
            self._last_queues[row.uid] = row.queue
        elif is_running and last in around.leaf_queues:
            row.queue = last
        if refusal and is_running:
            row.queue = last or self._config.default_queue
        return readable(refusal)

    def _there(self, uid: str) -> PodGroupObject | Unreadable | None:
        """The object of a pod group, readable or not; None: it is derived, or gone."""
        return self._caches.pod_group(uid) or self._caches.unreadable_pod_group(uid)

    def _row(
        self, uid: str, origin: Origin | None, pods: Sequence[Pod], around: RowContext, warnings: list[str]
    ) -> pb.PodGroup | None:
        """The row of a pod group with values of its own; None: it has none here."""
        kai_group = self._caches.kai_pod_groups.find(uid)
        if kai_group is not None:
            if not self._is_here(uid, self._config.has(kai_group.metadata.labels), pods):
                return None
            return kai_pod_group_row(kai_group, pods, around.priorities, around.levels, warnings)
        volcano_group = self._caches.volcano_pod_groups.find(uid)
        if volcano_group is not None:
            if not self._is_here(uid, self._config.has(volcano_group.metadata.labels), pods):
                return None
            return volcano_pod_group_row(volcano_group, pods, around.priorities, warnings)
        native_group = self._caches.native_pod_groups.find(uid)
        if native_group is not None:
            row = native_pod_group_row(
                native_group, pods, around.priorities, around.levels, self._config, warnings
            )
            return row if self._is_here(uid, row is not None, pods) else None
        if origin is None or not pods or have_all_ended(pods, ENDED):
            return None
        return derived_row(origin, pods, around.priorities, around.levels, self._config, warnings)

    def _is_here(self, uid: str, is_here: bool, pods: Sequence[Pod]) -> bool:
        """Remember whether an object is of this node pool and scheduler, and return that.

        What was given here stays here until its pods have ended: anybody who may write it may change its
        labels. Then raises UnusablePodGroup.
        """
        if not is_here:
            if not any(uses_resources(pod) and self.has_node(pod.spec.node_name) for pod in pods):
                if self._stored is not None:
                    self._stored.forget(uid)  # what is given elsewhere later is not this adapter's
            elif self._was_given(uid):
                self._others.discard(uid)
                raise UnusablePodGroup("it names another node pool or scheduler while its pods run here")
        (self._others.discard if is_here else self._others.add)(uid)
        return is_here

    def _was_given(self, uid: str) -> bool:
        """Whether this adapter signed what the pod group was given."""
        if self._stored is None:
            return False
        stored = self._read_stored(uid, {}, [])
        return stored.is_signed and names.GRANT in stored.values
