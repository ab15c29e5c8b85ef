"""What others own in the same cluster: their pods, their fields, their events. None of it is touched."""

import pytest
from tenure.client.kubernetes.transport import APPLY_PATCH, MERGE_PATCH

from tests.e2e.kube.conftest import Adapter
from tests.kube.audit import Audit
from tests.kube.cluster import Cluster, eventually
from tests.kube.definitions import KAI_POD_GROUP

pytestmark = pytest.mark.kube


def bind(cluster: Cluster, pod: str, node: str) -> None:
    """Bind a pod as another scheduler does."""
    body = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
    cluster.transport.post(f"{cluster.pods_path}/{pod}/binding", body)


def test_pods_of_other_schedulers_keep_their_room_and_are_never_written_to(
    cluster: Cluster, adapter: Adapter, audit: Audit
) -> None:
    cluster.pod("theirs-run", gpus=5, scheduler="default-scheduler")
    cluster.pod("theirs-wait", gpus=1, scheduler="default-scheduler")
    bind(cluster, "theirs-run", "n1")
    eventually(lambda: cluster.running("theirs") == 1)
    cluster.workload("ours", pods=1, gpus=3)
    cluster.workload("urgent", pods=1, gpus=4, priority="high")
    with adapter():
        eventually(lambda: cluster.running("ours") == 1)
        assert eventually(lambda: cluster.why("urgent"))
        assert cluster.running("theirs") == 1
        assert "nodeName" not in cluster.pods()["theirs-wait"]["spec"]
        written = {write.name for write in audit.writes("adapter", cluster.namespace)}
        assert "ours-0" in written
        assert not {name for name in written if name.startswith("theirs")}


def test_what_others_wrote_on_pod_groups_stays(cluster: Cluster, adapter: Adapter) -> None:
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
        eventually(lambda: "last-start-timestamp" in cluster.noted("gang"))
        cluster.workload("urgent", pods=1, gpus=8, priority="high")
        eventually(lambda: cluster.noted("gang").get("eviction-count") == "1")
        cluster.again("gang", pods=1, gpus=8)
        eventually(lambda: cluster.told("gang"))
        found = cluster.group("gang")
        assert found["metadata"]["annotations"]["team.example/owner"] == "ml"
        assert found["metadata"]["labels"] == {"color": "red"}
        assert elsewhere in found["status"]["schedulingConditions"]
        assert found["status"]["resourcesStatus"] == used
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert {"tenure", "tenure-status", "pipeline"} <= managers


def test_conditions_of_others_stay_on_pods(cluster: Cluster, adapter: Adapter) -> None:
    cluster.workload("huge", pods=1, gpus=64)
    checked = {"type": "team.example/checked", "status": "True"}
    status = {"status": {"conditions": [checked]}}
    cluster.transport.patch(f"{cluster.pods_path}/huge-0/status", status, MERGE_PATCH)
    with adapter():
        eventually(lambda: len(cluster.pods()["huge-0"]["status"]["conditions"]) == 2)
        first, second = cluster.pods()["huge-0"]["status"]["conditions"]
        assert checked.items() <= first.items()
        assert second["type"] == "PodScheduled"
