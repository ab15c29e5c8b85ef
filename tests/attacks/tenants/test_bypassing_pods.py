"""Pods whose authors chose the node, past the scheduler: others lose nothing but that room."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from tenure.client import Client
from tenure.v1.decide_pb2 import DecideResponse

from tests.kubernetes.observe.cached_cluster import CachedCluster, node, pod, queue, running
from tests.server.servers import run_server

_UNLIMITED: Final = {key: {"quota": -1, "limit": -1} for key in ("cpu", "memory", "gpu")}
_GPUS: Final = {"nvidia.com/gpu": "8"}
"""All GPUs of a node."""
FORCED: Final[dict[str, dict[str, str]]] = {
    "all GPUs of a full node": _GPUS,
    "more GPUs than any node": {"nvidia.com/gpu": "9223372036854775807"},
    "more cores than any node": {"cpu": "9E"},
    "all pod slots": {"pods": "9E"},
    "a negative amount": {"cpu": "-1"},
    "an endless amount": {"memory": "1e400"},
    "a resource of no node": {"example.com/x": "1"},
}
PHASES: Final = ("Pending", "Running", "Unknown", "")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=60) as client:
        yield client


def meta(namespace: str, of: str) -> dict[str, Any]:
    return {"namespace": namespace, "labels": {"kai.scheduler/queue": of}}


def cluster_with(*forced: dict[str, Any]) -> CachedCluster:
    """Two nodes; an honest pod has all GPUs of the first, and another one waits for as many."""
    world = CachedCluster()
    for name in ("n1", "n2"):
        world.put("nodes", node(name))
    for name in ("honest", "evil"):
        world.put("kai_queues", queue(name, resources=_UNLIMITED))
    world.put("pods", running("runs", requests=_GPUS, meta=meta("honest", "honest")))
    world.put("pods", pod("waits", requests=_GPUS, meta=meta("honest", "honest")))
    for item in forced:
        world.put("pods", item)
    return world


def steps(response: DecideResponse) -> list[tuple[str, str, str]]:
    """Evictions and bindings: kind, pod and node."""
    decisions = [one for group in response.groups for one in group.decisions]
    kinds = [(one, one.WhichOneof("kind")) for one in decisions]
    return [(kind, getattr(one, kind).pod, getattr(one, kind).node) for one, kind in kinds if kind in _STEPS]


_STEPS: Final = ("bind", "evict", "reserve")
BOUND: Final = [("bind", "uid-waits", "n2")]


@pytest.mark.parametrize("scheduler", ["kai-scheduler", "default-scheduler"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("forced", FORCED)
def test_forced_pod_evicts_nobody_and_others_are_bound(
    client: Client, forced: str, phase: str, scheduler: str
) -> None:
    item = running("forced", requests=FORCED[forced], meta=meta("evil", "evil"))
    item["spec"]["schedulerName"], item["status"]["phase"] = scheduler, phase
    assert steps(client.decide(cluster_with(item).snapshot())) == BOUND


def test_hundreds_of_forced_pods_on_a_node_leave_the_others_usable(client: Client) -> None:
    """More than its pod slots: its kubelet refuses most of them."""
    forced = [running(f"forced-{i}", requests={"cpu": "1"}, meta=meta("evil", "evil")) for i in range(300)]
    assert steps(client.decide(cluster_with(*forced).snapshot())) == BOUND


def test_forced_pod_on_a_missing_node_takes_no_room(client: Client) -> None:
    forced = [
        running(f"forced-{i}", on=f"gone-{i}", requests=_GPUS, meta=meta("evil", "evil")) for i in range(9)
    ]
    assert steps(client.decide(cluster_with(*forced).snapshot())) == BOUND


def test_no_pod_is_placed_beside_a_forced_pod_on_an_overfull_node(client: Client) -> None:
    forced = running("forced", on="n2", requests={"nvidia.com/gpu": "1"}, meta=meta("evil", "evil"))
    response = client.decide(cluster_with(forced).snapshot())
    assert [step for step in steps(response) if step[0] == "bind"] == []
