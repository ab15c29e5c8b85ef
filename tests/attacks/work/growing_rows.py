"""Snapshots with a growing number of valid rows, and with what refers to them."""

from collections.abc import Callable
from typing import Any, Final

from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.columns import to_columns

from tests.attacks.work.growing_constraints import Fill

LABEL: Final = "kubernetes.io/hostname"
NODE: Final = "n"
TIME: Final = {"seconds": 1_600_000_000}


def base_snapshot() -> pb.ClusterSnapshot:
    """A node, a queue, a topology, and a pod group with one running pod."""
    snapshot = pb.ClusterSnapshot(cluster_id="c", version=1, now={"seconds": 1_700_000_000})
    amounts = {"cpu_milli": 10**9, "memory_bytes": 10**12, "gpu_milli": 10**6, "pods": 10**6}
    labels = {"zone": "z", LABEL: NODE}
    snapshot.nodes.add(name=NODE, allocatable=amounts, gpu_memory_mib=40_000, labels=labels)
    snapshot.queues.add(name="top")
    snapshot.queues.add(name="q", parent="top")
    snapshot.topologies.add(name="t", levels=["zone"])
    snapshot.shapes.add(id="s", requests={"cpu_milli": 1})
    add_group(snapshot, "g")
    add_pod(snapshot, "p")
    return snapshot


def add_group(snapshot: pb.ClusterSnapshot, uid: str, **fields: Any) -> pb.PodGroup:
    values = {"queue": "q", "min_member": 1, "creation_time": TIME, "last_start_time": TIME, **fields}
    return snapshot.pod_groups.add(uid=uid, name=uid, namespace="ns", **values)


def add_pod(snapshot: pb.ClusterSnapshot, uid: str, **fields: Any) -> pb.Pod:
    values = {"pod_group": "g", "shape": "s", "status": pb.POD_STATUS_RUNNING, "node": NODE, **fields}
    return snapshot.pods.add(uid=uid, name=uid, **values)


def add_pods(snapshot: pb.ClusterSnapshot, count: int, **fields: Any) -> None:
    for i in range(count):
        add_pod(snapshot, f"p{i}", **fields)


def _nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}", allocatable=snapshot.nodes[0].allocatable)
        node.labels[LABEL] = f"n{i}"
        add_pod(snapshot, f"p{i}", node=f"n{i}")


def _leaf_queues(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"q{i}", parent="top", gpu_milli={"quota": i, "over_quota_weight": i + 1})
        add_group(snapshot, f"g{i}", queue=f"q{i}")
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _queues_in_a_cycle(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"q{i}", parent=f"q{(i + 1) % count}")


def _pod_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_group(snapshot, f"g{i}")
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _semi_preemptible_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_group(snapshot, f"g{i}", preemptibility=pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE)
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _later_wishes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    """Running pod groups whose owners want more protection than they were given."""
    grant = pb.Grant(queue="q", preemptibility=pb.PREEMPTIBILITY_PREEMPTIBLE, min_pods=1)
    for i in range(count):
        add_group(snapshot, f"g{i}", preemptibility=pb.PREEMPTIBILITY_NON_PREEMPTIBLE, grant=grant)
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _stale_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_group(snapshot, f"g{i}", min_member=2, stale_since=TIME)
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _shapes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.shapes.add(id=f"s{i}", requests={"cpu_milli": i})
        add_pod(snapshot, f"p{i}", shape=f"s{i}")


def _topologies(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.topologies.add(name=f"t{i}", levels=["zone"])
        add_group(snapshot, f"g{i}", topology_constraint={"topology": f"t{i}", "required_level": "zone"})


def _claims_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}")
        add_pod(snapshot, f"p{i}", resource_claims=[f"c{i}"])


def _claims_of_one_pod(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}")
    add_pod(snapshot, "p0", resource_claims=[f"c{i}" for i in range(count)])


def _shared_claims(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}", queue="q")
        add_pod(snapshot, f"p{i}", resource_claims=[f"c{i}"])
        add_pod(snapshot, f"r{i}", resource_claims=[f"c{i}"])


def _claim(snapshot: pb.ClusterSnapshot, id: str, **fields: Any) -> None:
    if not snapshot.nodes[0].devices:
        snapshot.nodes[0].devices["gpu"] = 10_000
    snapshot.resource_claims.add(id=id, requests=[{"device_class": "gpu", "count": 1}], **fields)


def _history_of_one_preemptor(snapshot: pb.ClusterSnapshot, count: int) -> None:
    add_group(snapshot, "w", last_start_time=None)
    for i in range(count):
        add_group(snapshot, f"g{i}")
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}")
        add_pod(snapshot, f"w{i}", pod_group="w", status=pb.POD_STATUS_RELEASING)
        record = {"victim": f"g{i}", "preemptor": "w", "last_eviction_time": TIME, "result_pending": True}
        snapshot.eviction_history.add(**record)


def _in_flight(
    kind: str, status: int, groups: int, each: int, prefix: str, snapshot: pb.ClusterSnapshot
) -> None:
    """In-flight groups with decisions about pods that have this status; 0: that are gone."""
    add_group(snapshot, "w", min_member=0, last_start_time=None)
    for i in range(groups):
        group = snapshot.in_flight_groups.add(
            id=f"f{i}", beneficiary="w", expire_time={"seconds": 1_800_000_000}
        )
        for k in range(each):
            pod = f"w{i}-{k}"
            getattr(group, kind).add(pod=f"{prefix}{pod}", node=NODE, pod_group="w")
            if status:
                node = "" if status == pb.POD_STATUS_PENDING else NODE
                add_pod(snapshot, pod, pod_group="w", status=status, node=node)


def _columns(fill: Callable[[pb.ClusterSnapshot, int], None]) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Copy of a snapshot with its pods as columns."""

    def filled(snapshot: pb.ClusterSnapshot, count: int) -> None:
        fill(snapshot, count)
        snapshot.CopyFrom(to_columns(snapshot))

    return filled


def _unknown_sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_pod(snapshot, f"p{i}", sub_group=f"unknown{i}")


def _nominated_nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_pod(snapshot, f"p{i}", nominated_node=f"gone{i}")


def _missing_nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_group(snapshot, f"g{i}")
        add_pod(snapshot, f"p{i}", pod_group=f"g{i}", node=f"gone{i}")


def _budgets_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _add_budget(snapshot, f"b{i}")
        add_pod(snapshot, f"p{i}", disruption_budgets=[f"b{i}"])


def _one_budget_of_many_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _add_budget(snapshot, "b")
    add_pods(snapshot, count, disruption_budgets=["b"])


def _budgets_of_one_pod(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _add_budget(snapshot, f"b{i}")
    add_pod(snapshot, "p0", disruption_budgets=[f"b{i}" for i in range(count)])


def _unknown_budgets(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        add_pod(snapshot, f"p{i}", disruption_budgets=[f"gone{i}"])


def _counted_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    add_pods(snapshot, count, disruption_budgets=["b"])
    _add_budget(snapshot, "b", counted_pods=[f"p{i}" for i in range(count)])


def _add_budget(snapshot: pb.ClusterSnapshot, name: str, **fields: Any) -> None:
    """A budget that stops a preemptor."""
    if not snapshot.disruption_budgets:
        add_group(snapshot, "w", priority=90, last_start_time=None)
        snapshot.shapes.add(id="wide", requests={"cpu_milli": 10**9})
        add_pod(snapshot, "w0", pod_group="w", shape="wide", status=pb.POD_STATUS_PENDING, node="")
    snapshot.disruption_budgets.add(name=name, allowed=1, **fields)


def _queue_usage(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"used{i}")
        mean = {"average": {"gpu": i}, "held": {"gpu": 1}, "rate": {"gpu": 1_000}}
        snapshot.queue_usage.add(queue=f"used{i}", time={"seconds": TIME["seconds"] + i % 60}, used=mean)


def _usage_of_unknown_queues(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queue_usage.add(queue=f"gone{i}", normalized={"gpu": i})


def _queue_runtimes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"ran{i}")
        row = snapshot.queue_runtimes.add(queue=f"ran{i}", time=TIME)
        row.sizes.add(gpu_milli=1_000, seconds=[i, 60])


def _runtimes_of_many_sizes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    row = snapshot.queue_runtimes.add(queue=snapshot.queues[0].name, time=TIME)
    for i in range(count):
        row.sizes.add(gpu_milli=i, seconds=[60])


def _many_runtimes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    """As many of each size as are permitted."""
    row = snapshot.queue_runtimes.add(queue=snapshot.queues[0].name, time=TIME)
    for first in range(0, count, 64):
        row.sizes.add(gpu_milli=first, seconds=[60] * min(64, count - first))


def _planned_starts(snapshot: pb.ClusterSnapshot, count: int) -> None:
    """Of pod groups that wait for a node that is in use until a time."""
    for i in range(count):
        add_group(snapshot, f"w{i}", last_start_time=None)
        add_pod(snapshot, f"wp{i}", pod_group=f"w{i}", status=pb.POD_STATUS_PENDING, node="")
        row = snapshot.planned_starts.add(pod_group=f"w{i}", since=TIME, start_time={"seconds": 2 * 10**9})
        row.certainty = pb.CERTAINTY_BOUNDED
        row.pods.add(node="n", shape="s", pods=1)


def _planned_starts_of_unknown_pod_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.planned_starts.add(pod_group=f"gone{i}", since=TIME)


def _postponed(snapshot: pb.ClusterSnapshot, count: int) -> None:
    """Of pod groups that wait."""
    for i in range(count):
        add_group(snapshot, f"w{i}", last_start_time=None)
        add_pod(snapshot, f"wp{i}", pod_group=f"w{i}", status=pb.POD_STATUS_PENDING, node="")
        snapshot.postponed_pod_groups.add(pod_group=f"w{i}", since=TIME)


def _postponed_unknown_pod_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.postponed_pod_groups.add(pod_group=f"gone{i}", since=TIME)


def _planned_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _planned_starts(snapshot, 1)
    for i in range(count):
        snapshot.planned_starts[0].pods.add(node=f"gone{i}", shape="s", pods=1)


def _backfill_owners(snapshot: pb.ClusterSnapshot, count: int) -> None:
    add_pods(snapshot, 1)
    snapshot.pod_groups[0].backfill_for.pod_groups.extend([f"w{i}" for i in range(count)])


def _eviction_rates(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.eviction_rates.add(name=f"r{i}", tokens_milli=i, time=TIME)


_PENDING, _RUNNING = pb.POD_STATUS_PENDING, pb.POD_STATUS_RUNNING
ROWS: Final[dict[str, tuple[Fill, ...]]] = {
    "ClusterSnapshot.nodes": (_nodes,),
    "ClusterSnapshot.queues": (_leaf_queues, _queues_in_a_cycle),
    "ClusterSnapshot.pod_groups": (
        _pod_groups,
        _semi_preemptible_groups,
        _later_wishes,
        _stale_groups,
    ),
    "ClusterSnapshot.pods": (add_pods, _unknown_sub_groups, _missing_nodes),
    "ClusterSnapshot.shapes": (_shapes,),
    "ClusterSnapshot.topologies": (_topologies,),
    "ClusterSnapshot.resource_claims": (_claims_of_pods, _claims_of_one_pod, _shared_claims),
    "ClusterSnapshot.eviction_history": (_history_of_one_preemptor,),
    "ClusterSnapshot.in_flight_groups": (
        lambda snapshot, count: _in_flight("evictions", _RUNNING, count, 1, "", snapshot),
        lambda snapshot, count: _in_flight("reservations", _PENDING, count, 1, "gone-", snapshot),
        lambda snapshot, count: _in_flight("bindings", _PENDING, count, 1, "", snapshot),
    ),
    "ClusterSnapshot.eviction_rates": (_eviction_rates,),
    "ClusterSnapshot.disruption_budgets": (_budgets_of_pods, _one_budget_of_many_pods),
    "ClusterSnapshot.planned_starts": (_planned_starts, _planned_starts_of_unknown_pod_groups),
    "ClusterSnapshot.postponed_pod_groups": (_postponed, _postponed_unknown_pod_groups),
    "PlannedStart.pods": (_planned_pods,),
    "BackfillOwners.pod_groups": (_backfill_owners,),
    "ClusterSnapshot.queue_usage": (_queue_usage, _usage_of_unknown_queues),
    "ClusterSnapshot.queue_runtimes": (_queue_runtimes,),
    "QueueRuntimes.sizes": (_runtimes_of_many_sizes,),
    "SizeRuntimes.seconds": (_many_runtimes,),
    "DisruptionBudget.counted_pods": (_counted_pods,),
    "PodColumns.string_table": (_columns(_pod_groups),),
    "PodColumns.uid": (_columns(add_pods),),
    "PodColumns.name": (_columns(add_pods),),
    "PodColumns.pod_group": (_columns(_pod_groups),),
    "PodColumns.shape": (_columns(_shapes),),
    "PodColumns.status": (_columns(add_pods),),
    "PodColumns.node": (_columns(_nodes),),
    "PodColumns.creation_time_delta_ns": (_columns(add_pods),),
    "PodColumns.sub_group": (_columns(_unknown_sub_groups),),
    "PodColumns.nominated_node": (_columns(_nominated_nodes),),
    "InFlightGroup.evictions": (
        lambda snapshot, count: _in_flight("evictions", _RUNNING, 1, count, "", snapshot),
    ),
    "InFlightGroup.reservations": (
        lambda snapshot, count: _in_flight("reservations", _PENDING, 1, count, "", snapshot),
        lambda snapshot, count: _in_flight("reservations", _PENDING, 1, count, "gone-", snapshot),
    ),
    "InFlightGroup.notices": (
        lambda snapshot, count: _in_flight("notices", _RUNNING, 1, count, "", snapshot),
        lambda snapshot, count: _in_flight("notices", _RUNNING, 1, count, "gone-", snapshot),
    ),
    "InFlightGroup.bindings": (
        lambda snapshot, count: _in_flight("bindings", _PENDING, 1, count, "", snapshot),
    ),
    "Pod.resource_claims": (_claims_of_one_pod,),
    "Pod.disruption_budgets": (_budgets_of_one_pod, _unknown_budgets),
}
"""Ways to fill each list of rows, and each column."""
