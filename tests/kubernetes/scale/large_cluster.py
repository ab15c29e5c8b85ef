"""A large cluster, created on an API server through many connections.

It has nodes of 8 GPUs and gangs of ten pods. Nine of ten gangs run. Half of the others fit; the other half
waits for quota of its queue. No kubelet runs: the status of running pods is written by the test.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, KAI_QUEUE, CustomKind

GANG: Final = 10
QUEUES: Final = 8
AT_ONCE: Final = 16
NAMESPACE: Final = "size"
CAPPED: Final = "capped"
"""A queue at its limit, with pending gangs."""
_UNLIMITED: Final = {"quota": -1, "limit": -1}
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
"""Path of the pods."""
_WITH_GPU: Final = 7
"""Number of gangs out of ten whose pods have a GPU each. A node of 8 GPUs has one left."""


class ClusterSize(NamedTuple):
    """Numbers of objects."""

    nodes: int
    pods: int

    @property
    def gangs(self) -> int:
        """Number of pod groups."""
        return self.pods // GANG

    @property
    def running(self) -> int:
        """Number of running pod groups."""
        return self.gangs * 9 // 10

    @property
    def fitting(self) -> int:
        """Number of pending pod groups that fit."""
        return (self.gangs - self.running) // 2


def populate(transport: Transport, size: ClusterSize, has_made: Callable[[int], None]) -> None:
    """Create all objects. `has_made` receives the number of objects created since its last call."""
    transport.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    _queues(transport)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for makes in (_nodes(transport, size), _groups(transport, size), _pods(transport, size)):
            for _ in pool.map(lambda make: make(), makes):
                has_made(1)


def objects(size: ClusterSize) -> int:
    """Return the number of objects that `populate` reports."""
    return size.nodes + size.gangs + size.gangs * GANG


def add_pod_group(transport: Transport, name: str) -> str:
    """Create a pod group of one pod with a GPU; return the path of the pod."""
    post_group(transport, name, {"queue": "q0", "minMember": 1})
    transport.post(PODS, scheduled_pod(name, name, 1, None))
    return f"{PODS}/{name}"


def finish_pod(transport: Transport, gang: int) -> None:
    """End the first pod of a running gang."""
    path = f"{PODS}/gang-{gang}-0/status"
    transport.patch(path, {"status": {"phase": "Succeeded"}}, MERGE_PATCH)


def _queues(transport: Transport) -> None:
    for name in (*(f"q{i}" for i in range(QUEUES)), CAPPED):
        gpu = {"quota": 0, "limit": 0} if name == CAPPED else _UNLIMITED
        spec = {"resources": {"cpu": _UNLIMITED, "memory": _UNLIMITED, "gpu": gpu}}
        body = _build_object(KAI_QUEUE, {"metadata": {"name": name}, "spec": spec})
        transport.post(f"/apis/{KAI_QUEUE.api_version}/queues", body)


def _nodes(transport: Transport, size: ClusterSize) -> Iterator[Callable[[], None]]:
    return (partial(post_node, transport, f"node-{i}") for i in range(size.nodes))


def _groups(transport: Transport, size: ClusterSize) -> Iterator[Callable[[], None]]:
    for i in range(size.gangs):
        queue = CAPPED if i >= size.running + size.fitting else f"q{i % QUEUES}"
        yield partial(post_group, transport, f"gang-{i}", {"queue": queue, "minMember": GANG})


def _pods(transport: Transport, size: ClusterSize) -> Iterator[Callable[[], None]]:
    """Running pods are distributed over the nodes, one GPU after the other."""
    place = 0
    for i in range(size.gangs):
        runs = i < size.running
        gpus = 0 if runs and i % 10 >= _WITH_GPU else 1
        for k in range(GANG):
            node = f"node-{place % size.nodes}" if runs else None
            place += gpus
            yield partial(post_pod, transport, scheduled_pod(f"gang-{i}-{k}", f"gang-{i}", gpus, node))


def post_node(transport: Transport, name: str, gpus: int = 8) -> None:
    """Create a node that is ready."""
    room = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    transport.post("/api/v1/nodes", {"metadata": {"name": name}})
    transport.patch(f"/api/v1/nodes/{name}/status", {"status": status}, MERGE_PATCH)


def post_pod(transport: Transport, pod: dict[str, Any]) -> None:
    """Create a pod; one with a node runs and is ready."""
    transport.post(PODS, pod)
    if "nodeName" in pod["spec"]:
        path = f"{PODS}/{pod['metadata']['name']}/status"
        ready = [{"type": "Ready", "status": "True"}]
        transport.patch(path, {"status": {"phase": "Running", "conditions": ready}}, MERGE_PATCH)


def post_group(transport: Transport, name: str, spec: dict[str, Any]) -> None:
    """Create a pod group."""
    meta = {"name": name, "namespace": NAMESPACE}
    path = f"/apis/{KAI_POD_GROUP.api_version}/namespaces/{NAMESPACE}/podgroups"
    transport.post(path, _build_object(KAI_POD_GROUP, {"metadata": meta, "spec": spec}))


def scheduled_pod(name: str, group: str, gpus: int, node: str | None) -> dict[str, Any]:
    """Build a pod of a pod group with one core and 4 GiB."""
    amounts = {"cpu": "1", "memory": "4Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    spec: dict[str, Any] = {"schedulerName": "kai-scheduler", "containers": [container]}
    return {
        "metadata": {"name": name, "annotations": {"pod-group-name": group}, "labels": {"app": group}},
        "spec": {**spec, "nodeName": node} if node else spec,
    }


def _build_object(kind: CustomKind, body: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}
