"""Pod affinities of a tenant concern its own namespace: they keep no pod of others off a node."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from tenure.client import Client

from tests.kubernetes.observe.cached_cluster import CachedCluster, node, pod, queue, running
from tests.server.servers import run_server

_RULE: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UNLIMITED: Final = {key: {"quota": -1, "limit": -1} for key in ("cpu", "memory", "gpu")}
APP: Final = {"app": "db"}
HOST: Final = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=60) as client:
        yield client


def anti_affinity(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {_RULE: [{"topologyKey": HOST, **term}]}}}


TERMS: Final[dict[str, dict[str, Any]]] = {
    "labels of others": {"labelSelector": {"matchLabels": APP}},
    "labels of others in their namespace": {"labelSelector": {"matchLabels": APP}, "namespaces": ["honest"]},
    "labels of others in all namespaces": {"labelSelector": {"matchLabels": APP}, "namespaceSelector": {}},
    "all pods": {"labelSelector": {}},
    "all pods of all namespaces": {"labelSelector": {}, "namespaceSelector": {}},
    "all pods but some": {
        "labelSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]},
        "namespaceSelector": {},
    },
}


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "pending"])
@pytest.mark.parametrize("term", TERMS)
def test_anti_affinity_keeps_no_pod_of_another_namespace_off_a_node(
    client: Client, term: str, is_running: bool
) -> None:
    world = CachedCluster()
    world.put("nodes", node("n1", labels={HOST: "n1"}))
    world.put("kai_queues", queue("q", resources=_UNLIMITED))
    labels = {"kai.scheduler/queue": "q", **APP}
    make, spec = running if is_running else pod, anti_affinity(**TERMS[term])
    for number in range(20):
        where = {"namespace": "evil", "labels": labels}
        world.put("pods", make(f"evil-{number}", meta=where, spec=spec))
    world.put("pods", pod("honest", meta={"namespace": "honest", "labels": labels}))
    response = client.decide(world.snapshot())
    bound = {one.bind.pod for group in response.groups for one in group.decisions}
    assert "uid-honest" in bound
    assert not any(one.HasField("evict") for group in response.groups for one in group.decisions)
