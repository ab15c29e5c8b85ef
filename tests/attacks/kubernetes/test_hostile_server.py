"""On a real API server: forged decisions reach no pod of another scheduler."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tenure.kubernetes.adapter import Adapter, write_seconds
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.settings import AdapterSettings

from tests.attacks.tenants.forging_client import ForgingClient, bind, evict
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN, ControlPlane

pytestmark = pytest.mark.kube


@contextmanager
def adapter_of(plane: ControlPlane, server: str, namespace: str) -> Iterator[ForgingClient]:
    settings = AdapterSettings.model_validate({"clusterId": namespace, "namespace": namespace})
    config = plane.kubeconfig(ADAPTER_TOKEN)
    with (
        closing(Transport(config)) as reading,
        closing(Transport(config, timeout=write_seconds(settings.lease_duration))) as writing,
        ForgingClient(server) as client,
    ):
        adapter = Adapter(settings, reading, writing, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            yield client
        finally:
            adapter.stop()
            thread.join(30)


def test_forged_evictions_and_bindings_reach_no_foreign_pod(
    plane: ControlPlane, server: str, cluster: UserCluster
) -> None:
    runs = cluster.pod("theirs-0", gpus=1, scheduler="default-scheduler")["metadata"]["uid"]
    waits = cluster.pod("theirs-1", gpus=1, scheduler="default-scheduler")["metadata"]["uid"]
    target = {"metadata": {"name": "theirs-0"}, "target": {"kind": "Node", "name": "n1"}}
    cluster.transport.post(f"{cluster.pods_path}/theirs-0/binding", target)
    wait_until(lambda: cluster.running("theirs") == 1)
    with adapter_of(plane, server, cluster.namespace) as client:
        cluster.workload("own", pods=1, gpus=1)
        wait_until(lambda: cluster.running("own") == 1)
        group = cluster.group("own")["metadata"]["uid"]
        forged = [evict(runs, group), bind(waits, "n1"), evict(waits, group, node="")]
        client.decisions.extend(forged)
        cluster.workload("honest", pods=1, gpus=1)
        wait_until(lambda: all(one.id in client.results for one in forged))
        wait_until(lambda: cluster.running("honest") == 1)
        wait_until(lambda: set(cluster.events("DecisionRefused")) == {"tenure"})
    results = [client.results[one.id] for one in forged]
    assert all("belongs to scheduler 'default-scheduler'" in one.detail for one in results)
    assert cluster.running("theirs") == 1
    assert "nodeName" not in cluster.pods()["theirs-1"]["spec"]
