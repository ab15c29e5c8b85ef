"""A change of pods, pod groups and groups in flight, decoded without reading again the rows that stay.

What a pod or pod group means depends on few other rows, which such a change leaves alone: nodes, shapes,
topologies. Only linking looks at all rows. Whatever else changes, or is wrong, takes the long way: everything
is decoded anew, which also finds the words for what is wrong.
"""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.server.codec.checks import name_ranks
from tenure.server.codec.columns import decode_columns
from tenure.server.codec.decode import Decoded, excessive_totals
from tenure.server.codec.inflight import check_in_flight, decode_in_flight
from tenure.server.codec.lost import lost_doubts
from tenure.server.codec.memory import decode_memory
from tenure.server.codec.podgroups import decode_pod_groups
from tenure.server.codec.pods import decode_pods
from tenure.server.codec.violations import Findings
from tenure.solver.model.linking import PodGroupSpec, TaskSpec, link_workloads
from tenure.v1.snapshot_pb2 import ClusterSnapshot, InFlightGroup
from tenure.v1.state_pb2 import StateKeys

_WORKLOADS: Final = frozenset(("pod_groups", "pods", "pod_columns", "in_flight_groups"))


class _Rows(NamedTuple):
    pod_groups: Mapping[str, PodGroupSpec]
    tasks: Mapping[str, TaskSpec]


def decode_change(
    before: Decoded, state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys, now: int
) -> Decoded | None:
    """What `decode` would make of a sound state with sound upserts laid over it, at a time in nanoseconds.

    `state` is what `before` was decoded from. None when everything has to be decoded anew.
    """
    if not _concerns_workloads_alone(before, upserts, removes):
        return None
    rows = _changed(before, upserts, removes)
    if rows is None:
        return None
    cluster, tasks = before.cluster, rows.tasks.values()
    if any(excessive_totals(cluster.resource_names, cluster.nodes, cluster.shapes, tasks)):
        return None
    in_flight = _in_flight(state, upserts, removes)
    if in_flight is None:
        return None
    workloads = link_workloads(rows.pod_groups.values(), tasks, cluster.queues)
    memory = cluster.eviction_memory
    if state.eviction_memory:
        ranks = name_ranks(dict.fromkeys(rows.pod_groups, 0))
        memory = decode_memory(state.eviction_memory, ranks, Findings("eviction_memory"))
    after = replace(
        cluster,
        now=now,
        pod_groups=workloads.pod_groups,
        tasks=workloads.tasks,
        eviction_memory=memory,
        doubts=(*workloads.doubts, *lost_doubts(tasks, workloads.pod_groups)),
        in_flight=decode_in_flight(
            in_flight, workloads.tasks, workloads.pod_groups, cluster.nodes, before.known.slots
        ),
    )
    return replace(
        before,
        cluster=after,
        pod_groups=rows.pod_groups,
        tasks=rows.tasks,
        known=replace(before.known, pod_groups=rows.pod_groups),
    )


def _in_flight(
    state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys
) -> list[InFlightGroup] | None:
    """The groups in flight after the change; None when something is wrong with them."""
    found = Findings("upserts")
    check_in_flight(upserts.in_flight_groups, found)
    groups = {group.id: group for group in state.in_flight_groups}
    for removed in removes.in_flight_groups:
        groups.pop(removed, None)
    groups.update((group.id, group) for group in upserts.in_flight_groups)
    return None if found or "" in groups else list(groups.values())


def _concerns_workloads_alone(before: Decoded, upserts: ClusterSnapshot, removes: StateKeys) -> bool:
    """Claims tie pods to each other, and pods on nodes with zones may bring new resources."""
    if before.cluster.claims or before.known.zones:
        return False
    return all(field.name in _WORKLOADS for rows in (upserts, removes) for field, _ in rows.ListFields())


def _changed(before: Decoded, upserts: ClusterSnapshot, removes: StateKeys) -> _Rows | None:
    """The rows after the change; None when something is wrong with it."""
    found = Findings("upserts")
    pod_groups, tasks = dict(before.pod_groups), dict(before.tasks)
    for uid in removes.pod_groups:
        pod_groups.pop(uid, None)
    for uid in removes.pods:
        tasks.pop(uid, None)
    for group in decode_pod_groups(upserts.pod_groups, before.levels, found):
        pod_groups[group.uid] = group
    known = replace(before.known, pod_groups=pod_groups)
    fresh = decode_pods(upserts.pods, known, found) + decode_columns(upserts.pod_columns, known, found)
    for task in fresh:
        tasks[task.uid] = task
    if found or "" in pod_groups or "" in tasks or _has_orphans(tasks, pod_groups, removes):
        return None
    return _Rows(pod_groups, tasks)


def _has_orphans(tasks: Mapping[str, TaskSpec], pod_groups: Container[str], removes: StateKeys) -> bool:
    """Whether the pod group of a pod that stays is gone."""
    gone = {uid for uid in removes.pod_groups if uid not in pod_groups}
    return bool(gone) and any(task.pod_group in gone for task in tasks.values())
