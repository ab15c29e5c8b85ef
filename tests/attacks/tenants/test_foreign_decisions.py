"""A confused or hostile server cannot make the adapter change what the adapter does not schedule."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tenure.kubernetes.adapter import Adapter, write_seconds
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.settings import AdapterSettings
from tenure.v1 import decision_pb2 as pb
from tenure.v1.report_pb2 import APPLY_STATUS_PRECONDITION_FAILED

from tests.attacks.tenants.forging_client import ForgingClient, bind, evict
from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP
from tests.server.servers import run_server

POOL = "kai.scheduler/node-pool"
REFUSED = "DecisionRefused"


class Site(NamedTuple):
    """A cluster with own and foreign objects, and the client of the adapter on it."""

    cluster: UserCluster
    client: ForgingClient

    def uid(self, pod: str) -> str:
        return str(self.cluster.pods()[pod]["metadata"]["uid"])

    def group_uid(self, name: str) -> str:
        return str(self.cluster.group(name)["metadata"]["uid"])


@contextmanager
def running_adapter(stage: AdapterStage, server: str) -> Iterator[ForgingClient]:
    """Run an adapter in this process that trusts a forging client."""
    settings = AdapterSettings.model_validate(
        {"clusterId": "attacked", "namespace": stage.cluster.namespace, "leaseDuration": "9s"}
    )
    config = stage.api.kubeconfig(ADAPTER_TOKEN)
    with (
        closing(Transport(config)) as reading,
        closing(Transport(config, timeout=write_seconds(9))) as writing,
        ForgingClient(server) as client,
    ):
        adapter = Adapter(settings, reading, writing, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            yield client
        finally:
            adapter.stop()
            thread.join(20)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


@pytest.fixture
def stage(tmp_path: Path, server: str) -> Iterator[AdapterStage]:
    """Pods that run: `own-0`, `theirs-0` of another scheduler, `far-0` of another node pool."""
    with open_stage(tmp_path, server, tmp_path.name) as made:
        cluster = made.cluster
        cluster.node("n2")
        cluster.transport.patch("/api/v1/nodes/n2", {"metadata": {"labels": {POOL: "far"}}}, MERGE_PATCH)
        cluster.workload("own", pods=1, gpus=1)
        cluster.workload("other", pods=1, gpus=1)
        cluster.workload("far", pods=1, gpus=1)
        in_pool = {"metadata": {"labels": {POOL: "far"}}}
        cluster.transport.patch(f"{cluster.path(KAI_POD_GROUP)}/far", in_pool, MERGE_PATCH)
        cluster.pod("theirs-0", gpus=1, scheduler="default-scheduler")
        cluster.pod("pending-0", gpus=1, scheduler="default-scheduler")
        made.start("own-0", "other-0", "theirs-0", "far-0")
        yield made


def pending_pod(site: Site) -> str:
    """Create a pod of the adapter that no node fits, so that it stays pending."""
    site.cluster.workload("huge", pods=1, gpus=64)
    wait_until(lambda: site.cluster.reasons_of("huge"))
    return site.uid("huge-0")


FORGERIES: dict[str, tuple[Callable[[Site], pb.Decision], str]] = {
    "evict a pod of another scheduler": (
        lambda site: evict(site.uid("theirs-0"), site.group_uid("own")),
        "belongs to scheduler 'default-scheduler'",
    ),
    "evict a pod of another node pool": (
        lambda site: evict(site.uid("far-0"), site.group_uid("far")),
        "is not in the snapshot",
    ),
    "evict a pod in the name of another pod group": (
        lambda site: evict(site.uid("own-0"), site.group_uid("other")),
        "but the decision names",
    ),
    "evict a pod without a pod group": (lambda site: evict(site.uid("own-0"), ""), "names none"),
    "bind a pod of another scheduler": (
        lambda site: bind(site.uid("pending-0"), "n1"),
        "belongs to scheduler 'default-scheduler'",
    ),
    "bind a pod to a node of another pool": (
        lambda site: bind(pending_pod(site), "n2"),
        "node n2 is not in the node pool",
    ),
}


@pytest.mark.parametrize("attack", FORGERIES)
def test_forged_decision_is_refused_reported_and_counted(
    stage: AdapterStage, server: str, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    forge, why = FORGERIES[attack]
    cluster = stage.cluster
    with running_adapter(stage, server) as client:
        site = Site(cluster, client)
        wait_until(lambda: _leads(stage))
        forged = forge(site)
        client.decisions.append(forged)
        cluster.workload("honest", pods=1, gpus=1)
        result = wait_until(lambda: client.results.get(forged.id))
        wait_until(lambda: cluster.running("honest") == 1)
        wait_until(lambda: cluster.event_notes(REFUSED))
    assert result.status == APPLY_STATUS_PRECONDITION_FAILED
    assert why in result.detail
    assert any(why in note for note in cluster.event_notes(REFUSED))
    assert cluster.events(REFUSED) == ["tenure"]
    assert any(why in record.getMessage() for record in caplog.records)
    assert stage.sent("eviction") == []
    assert stage.sent("binding") == ["honest-0"]


def test_forged_patches_are_not_written_to_foreign_pod_groups(stage: AdapterStage, server: str) -> None:
    cluster = stage.cluster
    foreign = {"annotations": {"pod-group-name": "foreign"}}
    cluster.workload("foreign", pods=0, gpus=0, minMember=1)
    cluster.pod("foreign-0", gpus=1, scheduler="default-scheduler", **foreign)
    with running_adapter(stage, server) as client:
        site = Site(cluster, client)
        wait_until(lambda: _leads(stage))
        for name in ("far", "foreign"):
            patch = pb.Patch(pod_group=site.group_uid(name), eviction_count=1000)
            client.patches.append(patch)
        cluster.workload("honest", pods=1, gpus=1)
        wait_until(lambda: "last-start-timestamp" in cluster.annotations_of("honest"))
        wait_until(lambda: len(cluster.event_notes(REFUSED)) == 2)
    for name in ("far", "foreign"):
        assert cluster.annotations_of(name) == {}


def _leads(stage: AdapterStage) -> bool:
    """Whether an adapter has a lease."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{stage.cluster.namespace}/leases"
    items: list[Any] = json.loads(stage.cluster.transport.get(path))["items"]
    return bool(items)
