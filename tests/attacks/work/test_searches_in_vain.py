"""A queue full of pod groups that fit nowhere does not use up the time of other queues (semantics R5.75)."""

from math import inf
from typing import Any, Final

from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import OUTCOME_KIND_WAITING_FOR_VICTIMS
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kubernetes.observe.cached_cluster import CachedCluster, node, pod, queue, running

_NODES: Final = 4
_UNLIMITED: Final = {"quota": -1, "limit": -1}


def _put_queue(world: CachedCluster, name: str, gpus: int) -> None:
    share = {"quota": gpus, "limit": -1, "overQuotaWeight": 1}
    world.put("kai_queues", queue(name, resources={"cpu": _UNLIMITED, "memory": _UNLIMITED, "gpu": share}))


def _in(name: str, **meta: Any) -> dict[str, Any]:
    return {"namespace": name, "labels": {"kai.scheduler/queue": name}, **meta}


def _gpus(count: int) -> dict[str, str]:
    return {"nvidia.com/gpu": str(count)}


def _crowded_cluster(gangs: int) -> ClusterSnapshot:
    """Gangs of `evil` want two whole nodes and permit one; `honest` wants three of those that `hog` has."""
    world = CachedCluster()
    for name, share in (("evil", 300), ("honest", 300), ("hog", 0)):
        _put_queue(world, name, share)
    for place in range(_NODES):
        world.put("nodes", node(f"n{place}", labels={"slot": str(place)}))
        for number in range(8):
            name = f"hog-{place}-{number}"
            world.put("pods", running(name, on=f"n{place}", requests=_gpus(1), meta=_in("hog")))
    for number in range(gangs):
        group = {"metadata": {"name": f"e{number}", "namespace": "evil"}}
        world.put("kai_pod_groups", {**group, "spec": {"queue": "evil", "minMember": 2}})
        for member in range(2):
            other = {"tolerations": [{"key": f"t{number}-{member}", "operator": "Exists"}]}
            spec, meta = {"nodeSelector": {"slot": "0"}, **other}, {"pod-group-name": f"e{number}"}
            world.put(
                "pods",
                pod(f"e{number}-{member}", requests=_gpus(8), meta=_in("evil", annotations=meta), spec=spec),
            )
    for member in range(3):
        meta = _in("honest", annotations={"pod-group-name": "honest"})
        world.put("pods", pod(f"honest-{member}", requests=_gpus(8), meta=meta))
    group = {"metadata": {"name": "honest", "namespace": "honest"}}
    world.put("kai_pod_groups", {**group, "spec": {"queue": "honest", "minMember": 3}})
    return world.snapshot()


def _decide(snapshot: ClusterSnapshot, limit: float = inf) -> tuple[DecideResponse, int]:
    """A response, and the number of checks; the cycle ends at the check beyond the limit."""
    checks = 0

    def stop() -> bool:
        nonlocal checks
        checks += 1
        return checks > limit

    request = DecideRequest(snapshot=snapshot)
    return DecideResponse.FromString(Engine(default_profile()).decide(request, stop).content), checks


def test_queue_with_many_failed_searches_lets_the_others_go_first() -> None:
    _, checks = _decide(_crowded_cluster(gangs=70))
    response, _ = _decide(_crowded_cluster(gangs=140), limit=1.5 * checks)
    outcomes = {outcome.pod_group: outcome for outcome in response.outcomes}
    honest = outcomes["uid-honest"]
    assert honest.kind == OUTCOME_KIND_WAITING_FOR_VICTIMS, honest.reason.message
