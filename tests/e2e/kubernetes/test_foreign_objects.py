"""The adapter changes no pods, fields or events of other owners in the same cluster."""

import pytest
from tenure.kubernetes.api.transport import APPLY_PATCH, MERGE_PATCH

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

pytestmark = pytest.mark.kube


def bind(cluster: UserCluster, pod: str, node: str) -> None:
    """Bind a pod as another scheduler does."""
    body = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
    cluster.transport.post(f"{cluster.pods_path}/{pod}/binding", body)


def test_pods_of_other_schedulers_occupy_capacity_and_are_never_written(
    cluster: UserCluster, adapter: Adapter, audit: AuditLog
) -> None:
    cluster.pod("theirs-run", gpus=5, scheduler="default-scheduler")
    cluster.pod("theirs-wait", gpus=1, scheduler="default-scheduler")
    bind(cluster, "theirs-run", "n1")
    wait_until(lambda: cluster.running("theirs") == 1)
    cluster.workload("ours", pods=1, gpus=3)
    cluster.workload("urgent", pods=1, gpus=4, priority="high")
    with adapter():
        wait_until(lambda: cluster.running("ours") == 1)
        assert wait_until(lambda: cluster.reasons_of("urgent"))
        assert cluster.running("theirs") == 1
        assert "nodeName" not in cluster.pods()["theirs-wait"]["spec"]
        written = {write.name for write in audit.writes("adapter", cluster.namespace)}
        assert "ours-0" in written
        assert not {name for name in written if name.startswith("theirs")}


def test_fields_of_other_managers_on_pod_groups_are_preserved(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.workload("gang", pods=1, gpus=8, annotations={"team.example/owner": "ml"})
    where = f"{cluster.path(KAI_POD_GROUP)}/gang"
    elsewhere = {"nodePool": "other", "type": "UnschedulableOnNodePool", "status": "True"}
    used = {"allocated": {"cpu": "1"}}
    status = {"status": {"schedulingConditions": [elsewhere], "resourcesStatus": used}}
    cluster.transport.patch(f"{where}/status", status, MERGE_PATCH, {"fieldManager": "another"})
    theirs = {"kind": "PodGroup", "apiVersion": KAI_POD_GROUP.api_version}
    theirs["metadata"] = {"name": "gang", "labels": {"color": "red"}}
    cluster.transport.patch(where, theirs, APPLY_PATCH, {"fieldManager": "pipeline"})
    with adapter():
        wait_until(lambda: "last-start-timestamp" in cluster.annotations_of("gang"))
        cluster.workload("urgent", pods=1, gpus=8, priority="high")
        wait_until(lambda: cluster.annotations_of("gang").get("eviction-count") == "1")
        cluster.again("gang", pods=1, gpus=8)
        wait_until(lambda: cluster.conditions_of("gang"))
        found = cluster.group("gang")
        assert found["metadata"]["annotations"]["team.example/owner"] == "ml"
        assert found["metadata"]["labels"] == {"color": "red"}
        assert elsewhere in found["status"]["schedulingConditions"]
        assert found["status"]["resourcesStatus"] == used
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert {"tenure", "tenure-status", "pipeline"} <= managers


def test_foreign_pod_conditions_are_preserved(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.workload("huge", pods=1, gpus=64)
    checked = {"type": "team.example/checked", "status": "True"}
    status = {"status": {"conditions": [checked]}}
    cluster.transport.patch(f"{cluster.pods_path}/huge-0/status", status, MERGE_PATCH)
    with adapter():
        wait_until(lambda: len(cluster.pods()["huge-0"]["status"]["conditions"]) == 2)
        first, second = cluster.pods()["huge-0"]["status"]["conditions"]
        assert checked.items() <= first.items()
        assert second["type"] == "PodScheduled"
