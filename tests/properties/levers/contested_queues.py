"""Random clusters of several queues: a tenant has borrowed much of it, and others want theirs back later.

Every pod group that runs has the grant that it started with. Rows are messages, as a caller sends them.
"""

from typing import Any, Final, NamedTuple

from google.protobuf.json_format import ParseDict
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodGroup

from tests.properties.generators.draw import Draw

TENANT: Final = "a"
NOW: Final = "2026-03-02T12:00:00Z"
STARTS: Final = ("2026-03-02T11:59:00Z", "2026-03-02T11:30:00Z", "2026-03-02T08:00:00Z")
HOST: Final = "kubernetes.io/hostname"
TREES: Final = (
    {"a": "", "b": ""},
    {"a": "", "b": "", "c": ""},
    {"top": "", "a": "top", "b": "top", "c": "top"},
    {"x": "", "a": "x", "b": "x", "y": "", "c": "y"},
)
SOFT: Final = "PREEMPTIBILITY_PREEMPTIBLE"
FIRM: Final = "PREEMPTIBILITY_NON_PREEMPTIBLE"
SEMI: Final = "PREEMPTIBILITY_SEMI_PREEMPTIBLE"
ARRIVALS: Final = 8
"""Cycles in which pod groups of others arrive."""
Row = dict[str, Any]


class Arrival(NamedTuple):
    """A pod group that arrives with its pods."""

    cycle: int
    group: PodGroup
    pods: tuple[Pod, ...]


class ContestedQueues(NamedTuple):
    """A cluster, and the pod groups that arrive later."""

    snapshot: ClusterSnapshot
    arrivals: tuple[Arrival, ...]


def contested_queues(draw: Draw) -> ContestedQueues:
    """Up to four nodes, two or three leaf queues, of which the tenant has the first.

    All pods have one GPU, or there is one node: what is compared are amounts, not places. Those of the tenant
    have one, so that it can keep exactly what it is due.
    """
    sizes: tuple[int, ...] = (1,)
    free = {f"n{number}": draw.choice((2, 3, 4, 4)) for number in range(draw.integer(2, 4))}
    if draw.chance(40):
        sizes, free = (1, 1, 2), {"n0": draw.integer(5, 12)}
    total = sum(free.values())
    tree = draw.choice(TREES)
    leaves = [name for name in tree if name in "abc"]
    snapshot = ParseDict(
        {
            "cluster_id": "levers",
            "version": 1,
            "now": NOW,
            "nodes": [_node(name, gpus, draw) for name, gpus in free.items()],
            "shapes": [_shape(gpus) for gpus in (1, 2)],
            "queues": _queues(draw, tree, leaves, total),
        },
        ClusterSnapshot(),
    )
    for number in range(draw.integer(3, 8)):
        queue = draw.choice((*leaves, TENANT, TENANT, TENANT))
        _add_running(
            draw, snapshot, free, f"old{number}", queue, 1 if queue == TENANT else draw.choice(sizes)
        )
    for number in range(draw.integer(0, 2)):
        arrival = _arrival(draw, f"mine{number}", TENANT, 0, 1)
        snapshot.pod_groups.append(arrival.group)
        snapshot.pods.extend(arrival.pods)
    arrivals = [
        _arrival(draw, f"new{number}", draw.choice(leaves[1:]), draw.integer(0, ARRIVALS), draw.choice(sizes))
        for number in range(draw.integer(1, 4))
    ]
    return ContestedQueues(snapshot, tuple(arrivals))


def _node(name: str, gpus: int, draw: Draw) -> Row:
    amounts = {"cpu_milli": 64_000, "memory_bytes": 2**38, "gpu_milli": 1_000 * gpus, "pods": 110}
    return {"name": name, "allocatable": amounts, "labels": {HOST: name, "zone": draw.choice("zw")}}


def _shape(gpus: int) -> Row:
    return {"id": f"gpus{gpus}", "requests": {"cpu_milli": 1_000}, "gpu": {"devices": gpus}}


def _queues(draw: Draw, tree: dict[str, str], leaves: list[str], total: int) -> list[Row]:
    """Quotas that the cluster has; the tenant's is small or none."""
    left, quotas = total, dict[str, int]()
    for name in leaves:
        most = left // 3 if name == TENANT else left
        quotas[name] = draw.integer(0, most)
        left -= quotas[name]
    rows = []
    for name, parent in tree.items():
        quota = (
            quotas.get(name) if name in quotas else sum(quotas[leaf] for leaf in leaves if tree[leaf] == name)
        )
        gpus = {"quota": 1_000 * (quota or 0), "limit": -1, "over_quota_weight": 1}
        row: Row = {"name": name, "parent": parent, "gpu_milli": gpus}
        if draw.chance(30):
            row["max_min_runtime"] = draw.choice(("60s", "120s"))
        rows.append(row)
    return rows


def _facts(draw: Draw, uid: str, queue: str, pods: int) -> Row:
    minimum = draw.choice((pods, pods, 1, draw.integer(1, pods)))
    row: Row = {
        "uid": uid,
        "name": uid,
        "namespace": queue,
        "queue": queue,
        "priority": draw.choice((40, 50, 60)),
        "preemptibility": draw.choice((SOFT, SOFT, SOFT, SOFT, SEMI, FIRM)),
        "min_member": minimum,
        "creation_time": draw.choice(STARTS),
    }
    if draw.chance(20):
        row["expected_runtime"] = draw.choice(("600s", "3600s", "18000s"))
    return row


def _add_running(
    draw: Draw, snapshot: ClusterSnapshot, free: dict[str, int], uid: str, queue: str, gpus: int
) -> None:
    pods = draw.integer(1, 4)
    row = _facts(draw, uid, queue, pods)
    placed = list[str]()
    for _ in range(pods):
        nodes = [name for name, left in free.items() if left >= gpus]
        if not nodes:
            break
        placed.append(draw.choice(nodes))
        free[placed[-1]] -= gpus
    if len(placed) < row["min_member"]:
        for node in placed:
            free[node] += gpus
        return
    used = gpus * len(placed)
    if row["preemptibility"] != SOFT and not _is_covered(snapshot, queue, used):
        row["preemptibility"] = SOFT
    row["last_start_time"] = draw.choice(STARTS)
    row["grant"] = {
        "queue": queue,
        "preemptibility": row["preemptibility"],
        "min_pods": row["min_member"],
        **({"expected_runtime": row["expected_runtime"]} if "expected_runtime" in row else {}),
    }
    snapshot.pod_groups.append(ParseDict(row, PodGroup()))
    for number in range(pods):
        where = {"status": "POD_STATUS_PENDING"}
        if number < len(placed):
            where = {"status": "POD_STATUS_RUNNING", "node": placed[number]}
        snapshot.pods.append(_pod(uid, number, gpus, where))


def _is_covered(snapshot: ClusterSnapshot, queue: str, gpus: int) -> bool:
    """Whether the quota of a queue covers all that is not preemptible, with these GPUs."""
    groups = {group.uid: group for group in snapshot.pod_groups}
    for pod in snapshot.pods:
        group = groups[pod.pod_group]
        if pod.node and group.queue == queue and group.preemptibility != 1:
            gpus += int(pod.shape[-1])
    return any(row.name == queue and row.gpu_milli.quota >= 1_000 * gpus for row in snapshot.queues)


def _arrival(draw: Draw, uid: str, queue: str, cycle: int, gpus: int) -> Arrival:
    pods = draw.integer(1, 3)
    row = _facts(draw, uid, queue, pods)
    row["creation_time"] = f"2026-03-02T12:{cycle:02}:00Z"
    row["grant"] = {}
    where = {"status": "POD_STATUS_PENDING"}
    group = ParseDict(row, PodGroup())
    return Arrival(cycle, group, tuple(_pod(uid, number, gpus, where) for number in range(pods)))


def _pod(group: str, number: int, gpus: int, where: Row) -> Pod:
    row = {"uid": f"{group}-{number}", "pod_group": group, "shape": f"gpus{gpus}", **where}
    return ParseDict(row, Pod())
