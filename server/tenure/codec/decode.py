"""Decode a snapshot into a cluster, or report all its violations."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from tenure.codec.carried.history import (
    InFlightRows,
    check_in_flight,
    decode_disruption_budgets,
    decode_eviction_history,
    decode_in_flight,
)
from tenure.codec.carried.kinds import BUDGETS, CODECS, Referents, decode_carried
from tenure.codec.checks import (
    MISSING,
    excessive_totals,
    index_names,
    name_ranks,
    time_problem,
    total_requests,
)
from tenure.codec.claims import check_templates, decode_claims
from tenure.codec.missing_nodes import (
    collect_missing_node_warnings,
    drop_claims_on_missing_nodes,
    is_left_out,
)
from tenure.codec.nodes import decode_nodes
from tenure.codec.pod_columns import check_uids, decode_columns
from tenure.codec.pod_groups import decode_pod_groups
from tenure.codec.pods import PodReferences, decode_pods
from tenure.codec.queues import Levels, decode_queues, decode_topologies
from tenure.codec.shapes import decode_shapes, resource_names
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.node import Node
from tenure.solver.registry import BUILT_IN
from tenure.solver.resolution.claim_resolution import resolve_claims
from tenure.solver.resolution.incremental_resolution import IncrementalResolver
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import ResolvedWorkloads, resolve_queues, resolve_workloads
from tenure.solver.resolution.slot_map import SlotChange, SlotMap
from tenure.solver.resolution.slot_spacing import resolve_with_free_slots, youngest
from tenure.terms.cancellation import Pace, no_check
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.limits import MAX_RESOURCE_NAMES
from tenure.wire.rows import read_rows
from tenure.wire.violations import FieldViolation, SnapshotValidationError, ViolationCollector

_LISTS: Final = (
    *("nodes", "queues", "pod_groups", "pods", "shapes", "topologies", "resource_claims"),
    *("eviction_history", "pod_columns", "in_flight_groups", BUDGETS.kind.name),
    *(codec.kind.name for codec in CODECS),
)
"""Lists of a snapshot in the order of their violations."""


@dataclass(frozen=True, slots=True)
class DecodeBase:
    """Base of incremental decoding, which skips unchanged rows: resolved workloads and sums. Immutable."""

    slots: SlotMap
    pods: dict[int, int]
    """Number of pods by index of their shape."""
    left_out_pods: Mapping[str, TaskFacts]
    """Pods that are ignored because an object is not in the snapshot, by UID."""

    @classmethod
    def of(
        cls,
        pod_groups: Mapping[str, PodGroupFacts],
        tasks: Mapping[str, TaskFacts],
        leaves: Mapping[str, int],
        added: tuple[Collection[str], Collection[str]] = ((), ()),
    ) -> "DecodeBase":
        """Base of these rows, with free slots for new rows; see `resolve_with_free_slots`.

        `added` are the rows that were added last; by default, the youngest pod group.
        """
        pods = dict(Counter([spec.shape.index for spec in tasks.values()]))
        lost = {uid: spec for uid, spec in tasks.items() if is_left_out(spec)}
        came = added if added[0] or added[1] else youngest(pod_groups, tasks)
        return cls(resolve_with_free_slots(pod_groups, tasks, leaves, came), pods, lost)

    def next_version(
        self,
        changed: tuple[Sequence[str], Sequence[str]],
        before: PersistentMap[TaskFacts],
        pod_groups: PersistentMap[PodGroupFacts],
        tasks: PersistentMap[TaskFacts],
        leaves: Mapping[str, int],
    ) -> tuple["DecodeBase", SlotChange | None]:
        """Base after changing or removing the rows with these UIDs of pod groups and pods.

        `before` has the previous pods; `pod_groups` and `tasks` have all rows after the change. The
        SlotChange is None if everything was resolved again.
        """
        relinking = IncrementalResolver(self.slots, pod_groups, tasks)
        if relinking.change(*changed, before):
            slots, change = relinking.resolve(leaves)
            if not slots.has_too_many_empty(len(tasks)):
                pods, lost = self.pods.copy(), dict(self.left_out_pods)
                for uid in changed[1]:
                    _count(pods, lost, before.get(uid), tasks.get(uid))
                return DecodeBase(slots, pods, lost), change
        came = [uid for uid in changed[0] if uid in pod_groups and self.slots.group(uid) is None]
        came_pods = [uid for uid in changed[1] if uid in tasks and uid not in before]
        return DecodeBase.of(pod_groups.to_dict(), tasks.to_dict(), leaves, (came, came_pods)), None


@dataclass(frozen=True, slots=True)
class DecodedSnapshot:
    """A decoded snapshot: the cluster, and what the next change is decoded from."""

    cluster: Cluster
    pod_groups: PersistentMap[PodGroupFacts]
    """Facts about pod groups, by UID."""
    tasks: PersistentMap[TaskFacts]
    """Facts about pods, by UID."""
    references: PodReferences
    """Objects that pods refer to."""
    topology_levels: Levels
    """Levels that topology constraints refer to."""
    guarded_actions: Sequence[str] = BUILT_IN.guarded.names
    """Actions that pod groups can opt out of."""
    base: DecodeBase | None = field(default=None, compare=False, repr=False)
    """Base of the next change of workloads; None until the first change."""
    change: SlotChange | None = field(default=None, compare=False, repr=False)
    """Differences between its workloads and those of the previous version; None: unknown."""


class _Parts(NamedTuple):
    """A cluster and its parts."""

    cluster: Cluster
    pod_groups: list[PodGroupFacts]
    tasks: list[TaskFacts]
    references: PodReferences
    levels: Levels


def decode_snapshot(
    message: ClusterSnapshot,
    guarded_actions: Sequence[str] = BUILT_IN.guarded.names,
    check: Callable[[], None] = no_check,
) -> Cluster:
    """Cluster of a snapshot. The order of its lists does not matter. Raises as `decode`."""
    return _decode(message, guarded_actions, check).cluster


def decode(
    message: ClusterSnapshot,
    guarded_actions: Sequence[str] = BUILT_IN.guarded.names,
    check: Callable[[], None] = no_check,
) -> DecodedSnapshot:
    """Decode a snapshot; pod groups can opt out of `guarded_actions`.

    `check` is called every few rows, and raises when the call has ended.

    Raises SnapshotValidationError with all violations. The following are not violations: a pod group whose
    queue is missing or has children (the pod group has no queue), a pod of an unknown subgroup, and a pod or
    resource claim on a node that is not in the snapshot (a warning is returned for both).
    """
    cluster, pod_groups, tasks, known, levels = _decode(message, guarded_actions, check)
    by_uid = PersistentMap({group.uid: group for group in pod_groups})
    return DecodedSnapshot(
        cluster, by_uid, PersistentMap({task.uid: task for task in tasks}), known, levels, guarded_actions
    )


def _decode(message: ClusterSnapshot, guarded_actions: Sequence[str], check: Callable[[], None]) -> _Parts:
    found = {name: ViolationCollector(name, check) for name in _LISTS}
    nodes_sent = list(message.nodes)  # iterating over a list of a message creates its rows each time
    pods_sent, groups_sent = read_rows(message)
    check()
    names = resource_names(message)
    _refuse(_excessive_names(names))
    slots = {name: slot for slot, name in enumerate(names)}
    node_ranks = name_ranks(index_names([node.name for node in nodes_sent], found["nodes"]))
    nodes = decode_nodes(nodes_sent, node_ranks, slots, found["nodes"])
    queue_ranks = name_ranks(index_names([queue.name for queue in message.queues], found["queues"]))
    queues = decode_queues(message.queues, found["queues"])
    index_names([topology.name for topology in message.topologies], found["topologies"])
    topologies = decode_topologies(message.topologies, found["topologies"])
    levels = {topology.name: frozenset(topology.levels) for topology in topologies}
    uids = index_names([group.uid for group in groups_sent], found["pod_groups"], "uid")
    pod_groups = decode_pod_groups(groups_sent, levels, guarded_actions, found["pod_groups"])
    shape_ranks = name_ranks(index_names([shape.id for shape in message.shapes], found["shapes"], "id"))
    shapes = decode_shapes(message.shapes, shape_ranks, slots, found["shapes"])
    pod_uids = index_names([pod.uid for pod in pods_sent], found["pods"], "uid")
    check_uids(message.pod_columns, pod_uids, found["pod_columns"])
    claim_ids = index_names([claim.id for claim in message.resource_claims], found["resource_claims"], "id")
    claim_ranks = name_ranks(claim_ids)
    claims = decode_claims(message.resource_claims, claim_ranks, node_ranks, slots, found["resource_claims"])
    known = PodReferences.of(node_ranks, nodes, shapes, uids, claim_ranks, slots)
    sent = decode_pods(pods_sent, known, found["pods"])
    del pods_sent, groups_sent, pod_uids  # what is resolved next takes their memory
    sent += decode_columns(message.pod_columns, known, found["pod_columns"])
    check_templates(message.resource_claims, sent, claim_ranks, found["resource_claims"])
    sent = drop_claims_on_missing_nodes(sent, message.resource_claims, claim_ranks, node_ranks)
    history: tuple[EvictionRecord, ...] = ()
    if remembered := message.eviction_history:
        history = decode_eviction_history(remembered, name_ranks(uids), found["eviction_history"])
    carried = message.in_flight_groups
    check_in_flight(carried, found["in_flight_groups"])
    budgets = decode_disruption_budgets(message.disruption_budgets, found[BUDGETS.kind.name])
    referents = Referents(lambda: node_ranks, lambda: queue_ranks, lambda: shape_ranks)
    stored = decode_carried(message, referents, found)
    _refuse([*_header_violations(message), *(v for name in _LISTS for v in found[name].violations())])
    check()
    sent.sort(key=attrgetter("uid"))  # for resolve_claims numbers shapes as it meets them
    tasks, shapes = resolve_claims(sent, shapes, claims)
    pods = Counter([task.shape.index for task in tasks])
    _refuse(excessive_totals(names, "nodes", [(1, node.allocatable) for node in nodes]))
    _refuse(excessive_totals(names, "pods", total_requests(shapes, pods)))
    linked_queues = resolve_queues(queues)
    workloads = resolve_workloads(pod_groups, tasks, linked_queues)
    check()
    cluster = Cluster(
        now=message.now.seconds * SECOND + message.now.nanos,
        nodes=nodes,
        queues=linked_queues,
        pod_groups=workloads.pod_groups,
        tasks=workloads.tasks,
        shapes=shapes,
        topologies=topologies,
        claims=claims,
        resource_names=names,
        eviction_history=history,
        in_flight=decode_in_flight(carried, _in_flight_rows(workloads, nodes, slots, check))
        if carried
        else (),
        disruption_budgets=budgets,
        carried=stored,
        delayed=workloads.delayed,
        changed_grants=workloads.changed_grants,
        warnings=(*workloads.warnings, *collect_missing_node_warnings(sent, workloads.pod_groups)),
    )
    return _Parts(cluster, pod_groups, sent, known, levels)


def _count(
    pods: dict[int, int], left_out: dict[str, TaskFacts], before: TaskFacts | None, after: TaskFacts | None
) -> None:
    if before is not None:
        pods[before.shape.index] -= 1
        left_out.pop(before.uid, None)
    if after is not None:
        pods[after.shape.index] = pods.get(after.shape.index, 0) + 1
        if is_left_out(after):
            left_out[after.uid] = after


def _in_flight_rows(
    workloads: ResolvedWorkloads,
    nodes: Sequence[Node],
    slots: Mapping[str, int],
    check: Callable[[], None],
) -> InFlightRows:
    tasks = {task.facts.uid: task for task in workloads.tasks}
    pod_groups = {group.facts.uid: group for group in workloads.pod_groups}
    ranks = {node.facts.name: node.index for node in nodes}
    return InFlightRows(tasks.get, pod_groups.get, nodes, ranks, slots, Pace(check))


def _refuse(violations: Iterable[FieldViolation]) -> None:
    all_violations = list(violations)
    if all_violations:
        raise SnapshotValidationError(all_violations)


def _header_violations(message: ClusterSnapshot) -> Iterator[FieldViolation]:
    if not message.cluster_id:
        yield FieldViolation("cluster_id", MISSING)
    if not message.HasField("now"):
        yield FieldViolation("now", MISSING)
    elif problem := time_problem(message.now):
        yield FieldViolation("now", problem)


def _excessive_names(names: tuple[str, ...]) -> Iterator[FieldViolation]:
    """Checked first, since every node and every shape has an amount of each resource."""
    if len(names) > MAX_RESOURCE_NAMES:
        message = (
            f"with shapes and claims name {len(names)} kinds of resources, more than {MAX_RESOURCE_NAMES}"
        )
        yield FieldViolation("nodes", message)
