"""Decode a change of pods, pod groups and what callers carry between cycles without reading unchanged rows.

Facts about a pod or a pod group depend on few other rows: nodes, shapes, topologies. Such a change does not
modify them, and unchanged rows keep their slots (`resolution.slot_map`). After any other change, and if the
change is invalid, everything is decoded again, which also reports the violations.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.codec.carried.history import (
    InFlightRows,
    check_in_flight,
    decode_disruption_budgets,
    decode_eviction_history,
    decode_eviction_rates,
    decode_in_flight,
)
from tenure.codec.carried.reservations import decode_reservations, merge_reservations
from tenure.codec.carried.usage import decode_queue_usage
from tenure.codec.checks import excessive_totals, total_requests
from tenure.codec.decode import DecodeBase, DecodedSnapshot
from tenure.codec.missing_nodes import collect_missing_node_warnings
from tenure.codec.pod_columns import decode_columns
from tenure.codec.pod_groups import decode_pod_groups
from tenure.codec.pods import PodReferences, decode_pods
from tenure.solver.model.caller_state import Reservation
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import DisruptionBudget, EvictionRateState
from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.queue import WHOLE_CLUSTER, QueueUsage
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.reference_resolution import leaves_by_name
from tenure.terms.cancellation import Pace, no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot, EvictionRecord, InFlightGroup
from tenure.v1.state_pb2 import StateKeys
from tenure.wire.rows import read_rows
from tenure.wire.violations import ViolationCollector

_WORKLOADS: Final = frozenset(
    (
        *("pod_groups", "pods", "pod_columns", "in_flight_groups", "eviction_history"),
        *("disruption_budgets", "eviction_rates", "queue_usage", "reservations"),
    )
)
_UNKNOWN: Final = -2
"""Stands for a queue that does not exist."""


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
    in_flight, history = _in_flight(state, upserts, removes), _eviction_history(state, upserts, removes)
    budgets = _disruption_budgets(cluster, upserts, removes)
    rates, usage = _eviction_rates(cluster, upserts, removes), _queue_usage(cluster, upserts, removes)
    reserved = _reservations(before, upserts, removes)
    if in_flight is None or history is None or budgets is None or rates is None:
        return None
    if usage is None or reserved is None:
        return None
    after = _cluster(before, base, history, in_flight, now, check)
    return DecodedSnapshot(
        replace(
            after, disruption_budgets=budgets, eviction_rates=rates, queue_usage=usage, reservations=reserved
        ),
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

    `state` has the eviction history and in-flight groups that it was decoded from. Indices change.
    """
    if decoded.base is not None or decoded.cluster.claims or decoded.references.zones:
        return decoded
    check()
    cluster = decoded.cluster
    base = DecodeBase.of(
        decoded.pod_groups.to_dict(), decoded.tasks.to_dict(), leaves_by_name(cluster.queues)
    )
    check()
    standing = _cluster(decoded, base, state.eviction_history, state.in_flight_groups, cluster.now, check)
    return replace(decoded, cluster=standing, base=base)


def _cluster(
    decoded: DecodedSnapshot,
    decode_base: DecodeBase,
    eviction_history: Sequence[EvictionRecord],
    in_flight: Sequence[InFlightGroup],
    now: int,
    check: Callable[[], None],
) -> Cluster:
    """Cluster with the workloads of a base. The eviction history and in-flight groups are valid."""
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
        queue_usage=cluster.queue_usage,
        reservations=cluster.reservations,
        eviction_rates=cluster.eviction_rates,
        delayed=tuple(sorted(slots.delayed)),
    )


def _in_flight(
    state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys
) -> list[InFlightGroup] | None:
    """In-flight groups after the change; None if they are invalid."""
    found = ViolationCollector("upserts")
    check_in_flight(upserts.in_flight_groups, found)
    groups = {group.id: group for group in state.in_flight_groups}
    for removed in removes.in_flight_groups:
        groups.pop(removed, None)
    groups.update((group.id, group) for group in upserts.in_flight_groups)
    return None if found or "" in groups else list(groups.values())


def _eviction_history(
    state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys
) -> Sequence[EvictionRecord] | None:
    """Eviction history after the change; None if it is invalid."""
    if not upserts.eviction_history and not removes.eviction_history:
        return state.eviction_history
    found = ViolationCollector("upserts")
    decode_eviction_history(upserts.eviction_history, {}, found)
    records = {(record.victim, record.preemptor): record for record in state.eviction_history}
    for removed in removes.eviction_history:
        records.pop((removed.victim, removed.preemptor), None)
    records.update(((record.victim, record.preemptor), record) for record in upserts.eviction_history)
    return None if found else list(records.values())


def _disruption_budgets(
    before: Cluster, upserts: ClusterSnapshot, removes: StateKeys
) -> tuple[DisruptionBudget, ...] | None:
    """Disruption budgets after the change; None if they are invalid."""
    if not upserts.disruption_budgets and not removes.disruption_budgets:
        return before.disruption_budgets
    found = ViolationCollector("upserts")
    budgets = {budget.name: budget for budget in before.disruption_budgets}
    for removed in removes.disruption_budgets:
        budgets.pop(removed, None)
    sent = decode_disruption_budgets(upserts.disruption_budgets, found)
    budgets.update((budget.name, budget) for budget in sent)
    return None if found or "" in budgets else tuple([budgets[name] for name in sorted(budgets)])


def _reservations(
    before: DecodedSnapshot, upserts: ClusterSnapshot, removes: StateKeys
) -> tuple[Reservation, ...] | None:
    """Reservations after the change; None if they are invalid."""
    rows = before.cluster.reservations
    if not upserts.reservations and not removes.reservations:
        return rows
    found, known = ViolationCollector("upserts"), before.references
    shapes = {shape.id: shape.index for shape in known.shapes.values()}
    sent = decode_reservations(upserts.reservations, known.nodes, shapes, found)
    return None if found else merge_reservations(rows, sent, removes.reservations)


def _queue_usage(
    before: Cluster, upserts: ClusterSnapshot, removes: StateKeys
) -> tuple[QueueUsage, ...] | None:
    """Past use after the change; None if it is invalid."""
    if not upserts.queue_usage and not removes.queue_usage:
        return before.queue_usage
    found = ViolationCollector("upserts")
    queues = {queue.name: queue.index for queue in before.queues}
    rows = {row.queue: row for row in before.queue_usage}
    for removed in removes.queue_usage:
        rows.pop(queues.get(removed, _UNKNOWN) if removed else WHOLE_CLUSTER, None)
    rows.update((row.queue, row) for row in decode_queue_usage(upserts.queue_usage, queues, found))
    return None if found else tuple([rows[queue] for queue in sorted(rows)])


def _eviction_rates(
    before: Cluster, upserts: ClusterSnapshot, removes: StateKeys
) -> tuple[EvictionRateState, ...] | None:
    """States of eviction rates after the change; None if they are invalid."""
    if not upserts.eviction_rates and not removes.eviction_rates:
        return before.eviction_rates
    found = ViolationCollector("upserts")
    rates = {rate.name: rate for rate in before.eviction_rates if rate.name not in removes.eviction_rates}
    rates.update((rate.name, rate) for rate in decode_eviction_rates(upserts.eviction_rates, found))
    return None if found or "" in rates else tuple([rates[name] for name in sorted(rates)])


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
