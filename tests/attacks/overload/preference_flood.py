"""The attack with preferences: gangs of tiny pods with as many preferences as permitted, and none can start.

Each gang has 200 pods with a shape of their own, 64 preferred terms of pod affinity and anti-affinity, and
one pod that finds no node. Beside it, `owner` reclaims what `borrower` was lent: a node.
"""

from typing import Any, Final, NamedTuple

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
PODS: Final = 200
TERMS: Final = 64
"""Half of them of affinity, half of anti-affinity."""
_GPUS: Final = 8


class Gang(NamedTuple):
    """What the gangs of the attack are like."""

    pods: int = PODS
    terms: int = TERMS
    near_all: bool = False
    """The terms of each gang select the pods of all gangs, and not only its own."""
    fits_empty: bool = False
    """Whether the last pod requests a GPU, and none is free. Otherwise it requests more than any node has."""


ATTACK: Final = Gang()


def preference_flood(gangs: int, nodes: int = 40, gang: Gang = ATTACK) -> ClusterSnapshot:
    """The attack by this number of gangs on a cluster without a free GPU."""
    snapshot = ClusterSnapshot(cluster_id="flood", version=1)
    snapshot.now.seconds = 1_700_000_000
    for name, quota in (("evil", 0), ("owner", _GPUS * nodes), ("borrower", 0)):
        gpus = {"quota": 1_000 * quota, "limit": -1, "over_quota_weight": 1}
        snapshot.queues.add(name=name, gpu_milli=gpus)
    room = {"cpu_milli": 64_000, "memory_bytes": 2**40, "gpu_milli": 1_000 * _GPUS, "pods": 1_000}
    for number in range(nodes):
        snapshot.nodes.add(
            name=f"n{number:04}",
            labels={HOST: f"n{number:04}", ZONE: f"z{number % 4}"},
            allocatable=room,
            gpu_memory_mib=40_960,
        )
    snapshot.shapes.add(id="gpu", requests={"cpu_milli": 1_000}, gpu={"devices": 1})
    snapshot.shapes.add(id="node", requests={"cpu_milli": 1_000}, gpu={"devices": _GPUS})
    for number in range(_GPUS * nodes):
        _group(snapshot, f"lent-{number:05}", "borrower")
        snapshot.pods.add(
            uid=f"lent-{number:05}",
            pod_group=f"lent-{number:05}",
            shape="gpu",
            status=pb.POD_STATUS_RUNNING,
            node=f"n{number // _GPUS:04}",
        )
    _group(snapshot, "owner", "owner")
    snapshot.pods.add(uid="owner", pod_group="owner", shape="node", status=pb.POD_STATUS_PENDING)
    for number in range(gangs):
        _add_gang(snapshot, number, gang)
    return snapshot


def _add_gang(snapshot: ClusterSnapshot, number: int, gang: Gang) -> None:
    name = f"evil-{number:03}"
    app = {"app": "evil" if gang.near_all else name}
    half = range(gang.terms // 2)
    near, far = ([_term(app, place, weight) for place in half] for weight in (100, 50))
    shape = {"preferred_pod_affinity": near, "preferred_pod_anti_affinity": far}
    snapshot.shapes.add(id=name, requests={"cpu_milli": 1 + number}, **shape)
    last: dict[str, Any] = {"requests": {"cpu_milli": 10**9}}
    if gang.fits_empty:
        last = {"gpu": {"devices": 1}}
    snapshot.shapes.add(id=f"{name}-last", **last, **shape)
    _group(snapshot, name, "evil", gang.pods, priority=100)
    for member in range(gang.pods):
        is_last = member == gang.pods - 1
        snapshot.pods.add(
            uid=f"{name}-{member:03}",
            pod_group=name,
            shape=f"{name}-last" if is_last else name,
            labels=app,
            status=pb.POD_STATUS_PENDING,
        )


def _term(app: dict[str, str], place: int, most: int) -> dict[str, Any]:
    """Terms of a gang that differ, and all select pods with these labels."""
    row = {"key": f"k{place}", "operator": pb.SELECTOR_OPERATOR_DOES_NOT_EXIST}
    term = {"topology_key": HOST if place % 2 else ZONE, "match_labels": app, "match_expressions": [row]}
    return {"weight": most - place, "term": term}


def _group(snapshot: ClusterSnapshot, uid: str, queue: str, size: int = 1, priority: int = 50) -> None:
    group = snapshot.pod_groups.add(uid=uid, name=uid, namespace=queue, queue=queue, min_member=size)
    group.priority = priority
    group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    group.creation_time.seconds = 1_600_000_000
