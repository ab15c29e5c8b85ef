"""Single pods on a real API server: with a scheduling gate, with a GPU share, relocated to another node."""

from typing import Any

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.audit_log import AuditLog

pytestmark = pytest.mark.kube


@pytest.fixture
def derived_queue(cluster: UserCluster) -> UserCluster:
    """With the queue of pods that name no pod group."""
    cluster.queue("default-queue")
    return cluster


def test_gated_pod_starts_after_its_gate_is_removed(
    derived_queue: UserCluster, adapter: Adapter, audit: AuditLog
) -> None:
    derived_queue.pod("held-0", gpus=1, gates=("team.example/quota",))
    derived_queue.pod("free-0", gpus=1)
    with adapter():
        wait_until(lambda: derived_queue.running("free") == 1)
        assert derived_queue.bound("held") == 0
        derived_queue.transport.patch(
            f"{derived_queue.pods_path}/held-0", {"spec": {"schedulingGates": None}}, MERGE_PATCH
        )
        wait_until(lambda: derived_queue.running("held") == 1)
    tried = [one for one in audit.writes("adapter", derived_queue.namespace) if one.name == "held-0"]
    assert [one.resource for one in tried if one.status >= 400] == []


def test_two_halves_share_a_gpu_and_are_labeled_before_their_bindings(
    derived_queue: UserCluster, adapter: Adapter, audit: AuditLog
) -> None:
    for name in ("half-0", "half-1"):
        derived_queue.pod(name, gpus=0, annotations={"gpu-fraction": "0.5"})
    with adapter():
        wait_until(lambda: derived_queue.running("half") == 2)
    labels = [pod["metadata"]["labels"]["runai-gpu-group"] for pod in derived_queue.pods().values()]
    assert len(set(labels)) == 1
    writes = audit.writes("adapter", derived_queue.namespace)
    for name in ("half-0", "half-1"):
        about = [one.resource for one in writes if one.name == name and one.resource != "events"]
        assert about == ["pods", "pods/binding"]


def test_relocated_pod_frees_a_node_and_its_successor_gets_the_reserved_capacity(
    cluster: UserCluster, adapter: Adapter
) -> None:
    cluster.workload("stays", pods=1, gpus=4)
    cluster.workload("ends", pods=1, gpus=4)
    with adapter():
        wait_until(lambda: cluster.running("stays") == cluster.running("ends") == 1)
        cluster.node("n2", gpus=8)
        cluster.workload("other", pods=1, gpus=4)
        wait_until(lambda: cluster.running("other") == 1)
        cluster.end("ends")
        wait_until(lambda: cluster.pods("ends") == {})
        cluster.workload("whole", pods=1, gpus=8)
        moved = wait_until(lambda: [name.removesuffix("-0") for name in cluster.events("Evicted")])
        assert moved in (["stays"], ["other"])
        cluster.again(moved[0], pods=1, gpus=4)
        wait_until(
            lambda: cluster.running("whole") == cluster.running("stays") == cluster.running("other") == 1
        )
        nodes = {name: pod["spec"]["nodeName"] for name, pod in cluster.pods().items()}
        assert nodes["stays-0"] == nodes["other-0"] != nodes["whole-0"]


def prefer(kind: str, **term: Any) -> dict[str, Any]:
    """An affinity with one preferred term."""
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, **term}]}}


def to_pods(kind: str, app: str) -> dict[str, Any]:
    """A preferred affinity or anti-affinity to pods of a name on the same node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return prefer(kind, podAffinityTerm=term)


def test_pods_start_where_they_prefer_to(derived_queue: UserCluster, adapter: Adapter) -> None:
    """Without preferences, the first pod starts on n1 and each later one beside it."""
    derived_queue.node("n2", gpus=8)
    for name, disk in (("n1", "hdd"), ("n2", "ssd")):
        labels = {"kubernetes.io/hostname": name, "disk": disk}
        derived_queue.transport.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}}, MERGE_PATCH)
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    affinities = {
        "first": None,
        "on-ssd": prefer("nodeAffinity", preference=ssd),
        "beside": to_pods("podAffinity", "on-ssd"),
        "apart": to_pods("podAntiAffinity", "beside"),
    }
    with adapter():
        for name, affinity in affinities.items():
            derived_queue.pod(f"{name}-0", gpus=0, spec={"affinity": affinity}, labels={"app": name})
            wait_until(lambda name=name: derived_queue.running(name) == 1)  # type: ignore[misc]
    nodes = {name: pod["spec"]["nodeName"] for name, pod in derived_queue.pods().items()}
    assert nodes == {"first-0": "n1", "on-ssd-0": "n2", "beside-0": "n2", "apart-0": "n1"}
