"""`tenure adapter` on a real API server: no decision is lost or applied twice when processes are killed."""

import json
from pathlib import Path
from typing import Any

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.cluster.admission import refused_bindings
from tests.e2e.command import run_tenure
from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import PATIENCE_SECONDS, UserCluster, is_bound, wait_until
from tests.kubernetes.environment.audit_log import AuditLog

pytestmark = pytest.mark.kube


def test_dry_run_prints_decisions_and_writes_nothing(
    cluster: UserCluster, adapter_flags: tuple[str, ...], audit: AuditLog
) -> None:
    cluster.workload("dry", pods=2, gpus=4)
    done = run_tenure("adapter", *adapter_flags, "--dry-run", "--output", "json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    bindings = [(step["pod"], step["node"]) for step in steps if step["kind"] == "bind"]
    assert sorted(bindings) == [("dry-0", "n1"), ("dry-1", "n1")]
    assert "dry" in run_tenure("adapter", *adapter_flags, "--dry-run").stdout
    assert cluster.bound("dry") == 0
    assert audit.writes("adapter", cluster.namespace) == []


def test_stopped_adapter_releases_its_lease(cluster: UserCluster, adapter: Adapter) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/tenure"
    with adapter() as program:
        cluster.workload("one", pods=1, gpus=1)
        wait_until(lambda: cluster.running("one") == 1)
        assert program.terminate(PATIENCE_SECONDS) == 0
        assert not json.loads(cluster.transport.get(lease))["spec"].get("holderIdentity")


def test_killed_adapter_is_replaced_and_no_decision_is_applied_twice(
    cluster: UserCluster, adapter: Adapter, audit: AuditLog
) -> None:
    def ledger_version() -> str:
        path = f"/api/v1/namespaces/{cluster.namespace}/configmaps/tenure-journal"
        return str(json.loads(cluster.transport.get(path))["metadata"]["resourceVersion"])

    with adapter():
        cluster.workload("gang", pods=4, gpus=2)
        wait_until(lambda: cluster.running("gang") == 4)
    cluster.workload("urgent", pods=2, gpus=4, priority="high")
    before = ledger_version()
    with adapter():
        wait_until(lambda: ledger_version() != before)
    with adapter():
        wait_until(lambda: cluster.running("urgent") == 2)
        cluster.wait_for_annotations("urgent", "last-start-timestamp")
        wait_until(lambda: cluster.annotations_of("gang").get("eviction-count") == "1")
    writes = audit.writes("adapter", cluster.namespace)
    evicted = [one.name for one in writes if one.resource == "pods/eviction" and one.status < 300]
    assert sorted(evicted) == [f"gang-{i}" for i in range(4)]


def test_killed_adapter_that_allocated_devices_is_replaced_and_its_claim_keeps_them(
    cluster: UserCluster, adapter: Adapter, tmp_path: Path
) -> None:
    api = "/apis/resource.k8s.io/v1"
    claim = f"{api}/namespaces/{cluster.namespace}/resourceclaims/c"
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/tenure-device-allocator"
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{at}"} for at in range(3)]
    slices = {"driver": "fpga.test", "nodeName": "n1", "pool": pool, "devices": devices}
    cluster.make(f"{api}/resourceslices", {"metadata": {"name": "n1"}, "spec": slices})
    chosen = [{"cel": {"expression": "device.driver == 'fpga.test'"}}]
    cluster.make(f"{api}/deviceclasses", {"metadata": {"name": "fpga.test"}, "spec": {"selectors": chosen}})
    wanted = {"requests": [{"name": "two", "exactly": {"deviceClassName": "fpga.test", "count": 2}}]}
    cluster.transport.post(claim[:-2], {"metadata": {"name": "c"}, "spec": {"devices": wanted}})

    def allocation() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(cluster.transport.get(claim)).get("status", {})
        return found.get("allocation", {})

    config = tmp_path / "adapter.yaml"
    config.write_text("adapter: {allocateDevices: true}")
    allocating = ("--config", str(config))
    with refused_bindings(cluster, "one", "not yet"):
        uses = {"resourceClaims": [{"name": "x", "resourceClaimName": "c"}]}
        cluster.pod("one", gpus=0, spec=uses, labels={"kai.scheduler/queue": "q"})
        with adapter(*allocating):
            given = wait_until(allocation)
        assert not is_bound(cluster.pods()["one"])
    with adapter(*allocating):
        wait_until(lambda: is_bound(cluster.pods()["one"]))
        assert allocation() == given
    cluster.transport.delete(lease)


def test_journal_written_by_another_client_is_reloaded(cluster: UserCluster, adapter: Adapter) -> None:
    with adapter():
        cluster.workload("one", pods=1, gpus=1)
        cluster.wait_for_annotations("one", "last-start-timestamp")
        ledger = f"/api/v1/namespaces/{cluster.namespace}/configmaps/tenure-journal"
        cluster.transport.patch(ledger, {"metadata": {"labels": {"by": "hand"}}}, MERGE_PATCH)
        cluster.workload("two", pods=1, gpus=1)
        wait_until(lambda: cluster.running("two") == 1)


def test_one_of_two_adapters_leads_and_the_other_takes_over(cluster: UserCluster, adapter: Adapter) -> None:
    with adapter() as first, adapter():
        cluster.workload("one", pods=1, gpus=1)
        wait_until(lambda: cluster.running("one") == 1)
        first.kill()
        cluster.workload("two", pods=1, gpus=1)
        wait_until(lambda: cluster.running("two") == 1)
        wait_until(lambda: "two-0" in cluster.events("Scheduled"))  # the event of one-0 can be missing


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cluster-id", "c", "--kubeconfig", "missing.yaml"], 2, "missing.yaml"),
        ([], 2, "adapter.clusterId: is missing; set it here or as --cluster-id"),
        (["--cluster-id", "c", "--lease-duration", "1s"], 2, "adapter.leaseDuration: must be at least 3s"),
    ],
)
def test_invalid_configuration_exits_with_2(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    ended = run_tenure("adapter", *arguments)
    assert ended.returncode == code
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
