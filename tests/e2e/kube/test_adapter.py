"""`tenure adapter` on a real API server: nothing is lost or done twice, whoever is killed."""

import json
from pathlib import Path

import pytest
from tenure.client.kubernetes.transport import MERGE_PATCH

from tests.e2e.command import tenure
from tests.e2e.kube.conftest import Adapter
from tests.kube.audit import Audit
from tests.kube.cluster import Cluster, eventually

pytestmark = pytest.mark.kube

PATIENCE_SECONDS = 30.0


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    cluster: Cluster, told: tuple[str, ...], audit: Audit
) -> None:
    cluster.workload("dry", pods=2, gpus=4)
    done = tenure("adapter", *told, "--dry-run", "--output", "json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    bindings = [(step["pod"], step["node"]) for step in steps if step["step"] == "bind"]
    assert sorted(bindings) == [("dry-0", "n1"), ("dry-1", "n1")]
    assert "dry" in tenure("adapter", *told, "--dry-run").stdout
    assert cluster.bound("dry") == 0
    assert audit.writes("adapter", cluster.namespace) == []


def test_one_that_is_told_to_stop_gives_its_lease_back(cluster: Cluster, adapter: Adapter) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/tenure"
    with adapter() as program:
        cluster.workload("one", pods=1, gpus=1)
        eventually(lambda: cluster.running("one") == 1)
        assert program.terminate(PATIENCE_SECONDS) == 0
        assert not json.loads(cluster.transport.get(lease))["spec"].get("holderIdentity")


def test_one_that_is_killed_in_the_middle_is_replaced_and_nothing_happens_twice(
    cluster: Cluster, adapter: Adapter, audit: Audit
) -> None:
    def ledger_version() -> str:
        path = f"/api/v1/namespaces/{cluster.namespace}/configmaps/tenure-ledger"
        return str(json.loads(cluster.transport.get(path))["metadata"]["resourceVersion"])

    with adapter():
        cluster.workload("gang", pods=4, gpus=2)
        eventually(lambda: cluster.running("gang") == 4)
    cluster.workload("urgent", pods=2, gpus=4, priority="high")
    before = ledger_version()
    with adapter():
        eventually(lambda: ledger_version() != before)
    with adapter():
        eventually(lambda: cluster.running("urgent") == 2)
        eventually(lambda: "last-start-timestamp" in cluster.noted("urgent"))
        assert cluster.noted("gang")["eviction-count"] == "1"
    writes = audit.writes("adapter", cluster.namespace)
    evicted = [one.name for one in writes if one.resource == "pods/eviction" and one.status < 300]
    assert sorted(evicted) == [f"gang-{i}" for i in range(4)]


def test_a_ledger_that_somebody_else_wrote_is_read_anew(cluster: Cluster, adapter: Adapter) -> None:
    with adapter():
        cluster.workload("one", pods=1, gpus=1)
        eventually(lambda: "last-start-timestamp" in cluster.noted("one"))
        ledger = f"/api/v1/namespaces/{cluster.namespace}/configmaps/tenure-ledger"
        cluster.transport.patch(ledger, {"metadata": {"labels": {"by": "hand"}}}, MERGE_PATCH)
        cluster.workload("two", pods=1, gpus=1)
        eventually(lambda: cluster.running("two") == 1)


def test_of_two_adapters_one_acts_and_the_other_takes_over(cluster: Cluster, adapter: Adapter) -> None:
    with adapter() as first, adapter():
        cluster.workload("one", pods=1, gpus=1)
        eventually(lambda: cluster.running("one") == 1)
        first.kill()
        cluster.workload("two", pods=1, gpus=1)
        eventually(lambda: cluster.running("two") == 1)
        eventually(lambda: "two-0" in cluster.events("Scheduled"))  # that of one-0 may be lost


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--cluster-id", "c", "--kubeconfig", "missing.yaml"], 2, "missing.yaml"),
        ([], 2, "adapter.clusterId: is missing; give it here or as --cluster-id"),
        (["--cluster-id", "c", "--lease-duration", "1s"], 2, "adapter.leaseDuration: must be 3s or longer"),
    ],
)
def test_what_must_be_mended_ends_with_code_2(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    ended = tenure("adapter", *arguments)
    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
