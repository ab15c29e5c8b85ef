"""Decode a change of pods, pod groups and what callers carry between cycles without reading unchanged rows.

Facts about a pod or a pod group depend on few other rows: nodes, shapes, topologies. Such a change does not
modify them, and unchanged rows keep their slots (`resolution.slot_map`). After any other change, and if the
change is invalid, everything is decoded again, which also reports the violations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from tenure.codec.carried.history import (
    InFlightRows,
    check_in_flight,
    decode_eviction_history,
    decode_in_flight,
)
from tenure.codec.carried.kinds import BUDGETS, Referents, carried_after, rows_after
from tenure.codec.checks import excessive_totals, total_requests
from tenure.codec.decode import DecodeBase, DecodedSnapshot
from tenure.codec.missing_nodes import collect_missing_node_warnings
from tenure.codec.pod_columns import decode_columns
from tenure.codec.pod_groups import decode_pod_groups
from tenure.codec.pods import PodReferences, decode_pods
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import leaves_by_name
from tenure.terms.cancellation import Pace, no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateKeys
from tenure.wire.carried import CARRIED
from tenure.wire.deltas import KEYS, removed_keys
from tenure.wire.rows import read_rows
from tenure.wire.violations import ViolationCollector

_WORKLOADS: Final = frozenset(("pod_groups", "pods", "pod_columns", BUDGETS.kind.name, *CARRIED))
_CHECKS: Final[Mapping[str, Callable[[Any, ViolationCollector], object]]] = {
    "in_flight_groups": check_in_flight,
    "eviction_history": lambda rows, found: decode_eviction_history(rows, {}, found),
}
"""Checks of carried rows that refer to workloads, by list."""


class _Rows(NamedTuple):
    pod_groups: PersistentMap[PodGroupFacts]
    tasks: PersistentMap[TaskFacts]
    references: PodReferences
    """Objects that pods refer to after the change."""
    changed_uids: tuple[list[str], list[str]]
    """UIDs of changed or removed pod groups and pods, removed ones first."""


def decode_change(
    before: DecodedSnapshot,
    state: ClusterSnapshot,
    upserts: ClusterSnapshot,
    removes: StateKeys,
    now: int,
    check: Callable[[], None] = no_check,
) -> DecodedSnapshot | None:
    """Same result as `decode` for a valid state with valid upserts, at a time in nanoseconds.

    `check` is called every few rows, and raises when the call has ended.

    `state` is the snapshot that `before` was decoded from. Returns None if everything must be decoded again.
    """
    if not _concerns_workloads_alone(before, upserts, removes):
        return None
    before = with_base(before, state, check)
    base = before.base
    assert base is not None
    rows = _changed(before, base, upserts, removes, check)
    if rows is None:
        return None
    check()
    cluster = before.cluster
    base, change = base.next_version(
        rows.changed_uids, before.tasks, rows.pod_groups, rows.tasks, leaves_by_name(cluster.queues)
    )
    if any(excessive_totals(cluster.resource_names, "pods", total_requests(cluster.shapes, base.pods))):
        return None
    check()
    about_workloads = _rows_about_workloads(state, upserts, removes)
    referents = _referents(before)
    budgets = rows_after(BUDGETS, cluster.disruption_budgets, upserts, removes, referents)
    carried = carried_after(cluster.carried, upserts, removes, referents)
    if about_workloads is None or budgets is None or carried is None:
        return None
    after = _cluster(before, base, about_workloads, now, check)
    return DecodedSnapshot(
        replace(after, disruption_budgets=budgets, carried=carried),
        rows.pod_groups,
        rows.tasks,
        rows.references,
        before.topology_levels,
        before.guarded_actions,
        base,
        change,
    )


def with_base(
    decoded: DecodedSnapshot, state: ClusterSnapshot, check: Callable[[], None] = no_check
) -> DecodedSnapshot:
    """Add the base of the next change, for states that will change.

    `state` has the carried rows about workloads that it was decoded from. Indices change.
    """
    if decoded.base is not None or decoded.cluster.claims or decoded.references.zones:
        return decoded
    check()
    cluster = decoded.cluster
    base = DecodeBase.of(
        decoded.pod_groups.to_dict(), decoded.tasks.to_dict(), leaves_by_name(cluster.queues)
    )
    check()
    rows = {name: getattr(state, name) for name in _CHECKS}
    standing = _cluster(decoded, base, rows, cluster.now, check)
    return replace(decoded, cluster=standing, base=base)


def _cluster(
    decoded: DecodedSnapshot,
    decode_base: DecodeBase,
    about_workloads: Mapping[str, Sequence[Any]],
    now: int,
    check: Callable[[], None],
) -> Cluster:
    """Cluster with the workloads of a base. The carried rows about workloads, by list, are valid."""
    eviction_history, in_flight = about_workloads["eviction_history"], about_workloads["in_flight_groups"]
    cluster, slots, known = decoded.cluster, decode_base.slots, decoded.references
    named = {
        uid: slots.group(uid) for record in eviction_history for uid in (record.victim, record.preemptor)
    }
    ranks = {uid: group.index for uid, group in named.items() if group is not None}
    referred = InFlightRows(slots.task, slots.group, cluster.nodes, known.nodes, known.slots, Pace(check))
    return Cluster(
        now=now,
        nodes=cluster.nodes,
        queues=cluster.queues,
        pod_groups=slots.pod_groups,
        tasks=slots.tasks,
        shapes=cluster.shapes,
        topologies=cluster.topologies,
        claims=cluster.claims,
        resource_names=cluster.resource_names,
        eviction_history=decode_eviction_history(
            eviction_history, ranks, ViolationCollector("eviction_history", check)
        ),
        warnings=(
            *slots.warnings(),
            *collect_missing_node_warnings(decode_base.left_out_pods.values(), slots.pod_groups),
        ),
        in_flight=decode_in_flight(in_flight, referred) if in_flight else (),
        disruption_budgets=cluster.disruption_budgets,
        carried=cluster.carried,
        delayed=tuple(sorted(slots.delayed)),
        changed_grants=tuple(sorted(slots.changed_grants)),
    )


def _rows_about_workloads(
    state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys
) -> Mapping[str, Sequence[Any]] | None:
    """Carried rows that refer to workloads after the change, by list; None if they are invalid."""
    found, after = ViolationCollector("upserts"), dict[str, Sequence[Any]]()
    for name, check in _CHECKS.items():
        before, sent, key = getattr(state, name), getattr(upserts, name), KEYS[name]
        after[name] = before
        if sent or getattr(removes, name):
            check(sent, found)
            rows = {key(row): row for row in before}
            for removed in removed_keys(removes, name):
                rows.pop(removed, None)
            rows.update((key(row), row) for row in sent)
            after[name] = list(rows.values())
    return None if found else after


def _referents(before: DecodedSnapshot) -> Referents:
    known, queues = before.references, before.cluster.queues
    return Referents(
        lambda: known.nodes,
        lambda: {queue.facts.name: queue.index for queue in queues},
        lambda: {shape.id: shape.index for shape in known.shapes.values()},
    )


def _concerns_workloads_alone(before: DecodedSnapshot, upserts: ClusterSnapshot, removes: StateKeys) -> bool:
    """Whether only workloads change, and nothing connects pods: no claims, no nodes with zones."""
    if before.cluster.claims or before.references.zones:
        return False
    return all(field.name in _WORKLOADS for rows in (upserts, removes) for field, _ in rows.ListFields())


def _changed(
    before: DecodedSnapshot,
    decode_base: DecodeBase,
    upserts: ClusterSnapshot,
    removes: StateKeys,
    check: Callable[[], None],
) -> _Rows | None:
    """Rows after the change; None if it is invalid."""
    found = ViolationCollector("upserts", check)
    new_groups: dict[str, PodGroupFacts | None] = dict.fromkeys(removes.pod_groups)
    sent = read_rows(upserts)
    groups = decode_pod_groups(sent.pod_groups, before.topology_levels, before.guarded_actions, found)
    new_groups.update({group.uid: group for group in groups})
    pod_groups = before.pod_groups.with_changes(new_groups)
    known = before.references.with_pod_groups(pod_groups)
    fresh = decode_pods(sent.pods, known, found)
    if upserts.pod_columns.uid:
        fresh += decode_columns(upserts.pod_columns, known, found)
    new_tasks: dict[str, TaskFacts | None] = dict.fromkeys(removes.pods)
    new_tasks.update({task.uid: task for task in fresh})
    tasks = before.tasks.with_changes(new_tasks)
    gone = [uid for uid in removes.pod_groups if uid not in pod_groups]
    if found or "" in pod_groups or "" in tasks or (gone and _has_orphans(decode_base, tasks, gone)):
        return None
    uids = dict.fromkeys([uid for uid in removes.pods if uid not in tasks])
    uids.update(dict.fromkeys([task.uid for task in fresh]))
    changed = [*dict.fromkeys(gone), *dict.fromkeys([group.uid for group in groups])]
    return _Rows(pod_groups, tasks, known, (changed, list(uids)))


def _has_orphans(decode_base: DecodeBase, tasks: PersistentMap[TaskFacts], gone: Iterable[str]) -> bool:
    """Whether a removed pod group still has pods."""
    members = decode_base.slots.members
    pods = ((tasks.get(uid), group) for group in gone for uid in members.get(group) or ())
    return any(task is not None and task.pod_group == group for task, group in pods)
