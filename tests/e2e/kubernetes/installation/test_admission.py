"""The chart's admission policies: they permit the adapter's changes and do not affect other users."""

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP
from tests.kubernetes.volcano_objects import volcano_queue, volcano_workload

pytestmark = pytest.mark.kube

OWN_CONDITIONS = "its own conditions and the nominated node only"
FOREIGN = {"metadata": {"annotations": {"foreign": "x"}}}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}
SCHEDULED = {"type": "Scheduled", "status": "True"}
NOT_SCHEDULED = {"type": "PodScheduled", "status": "False"}
FOREIGN_POD_GROUP = "annotations of a pod group that are not its own"
POOL = "kai.scheduler/node-pool"
CLAIM = {"kind": "PersistentVolumeClaim", "namespace": "team", "name": "data"}
STARTED = {"kai.scheduler/last-start-timestamp": "2026-01-01T00:00:00Z"}
CHANGES = [
    *(
        (kind, change, message)
        for kind in ("kai", "volcano")
        for change, message in (
            ({"metadata": {"annotations": STARTED}}, ""),
            (FOREIGN, FOREIGN_POD_GROUP),
            (
                {"metadata": {"annotations": {"kai.scheduler/preemptibility": "preemptible"}}},
                FOREIGN_POD_GROUP,
            ),
            ({"metadata": {"annotations": {"kept": None}}}, FOREIGN_POD_GROUP),
            ({"metadata": {"labels": {POOL: "x"}}}, "labels, finalizers and owners of a pod group"),
            ({"metadata": {"finalizers": ["a.b/c"]}}, "labels, finalizers and owners of a pod group"),
            ({"spec": {"priorityClassName": "highest"}}, "does not change the spec of a pod group"),
            ({"spec": {"queue": "other"}}, "does not change the spec of a pod group"),
        )
    ),
    ("kai/status", {"status": {"schedulingConditions": []}}, ""),
    ("kai/status", {"status": {"resourcesStatus": {"allocated": {"cpu": 1}}}}, "scheduling conditions only"),
    ("kai/status", {"status": {"conditions": [SCHEDULED]}}, ""),
    ("volcano", {"status": {"conditions": [SCHEDULED]}}, ""),
    ("volcano", {"status": {"phase": "Running"}}, "scheduling conditions only"),
    ("pod", {"metadata": {"labels": {"runai-gpu-group": "a"}}}, ""),
    ("pod", {"metadata": {"labels": {"runai-gpu-group/a": "a"}}}, ""),
    ("pod", {"metadata": {"labels": {"app": "other"}}}, "those of shared GPUs only"),
    ("pod", {"metadata": {"labels": {"app": None}}}, "those of shared GPUs only"),
    ("pod", FOREIGN, "annotations, finalizers and owners of a pod"),
    ("pod", {"metadata": {"ownerReferences": [OWNER]}}, "annotations, finalizers and owners of a pod"),
    ("pod", {"spec": {"activeDeadlineSeconds": 1}}, "does not change the spec of a pod"),
    ("pod/status", {"status": {"conditions": [NOT_SCHEDULED]}}, ""),
    ("pod/status", {"status": {"nominatedNodeName": "n1"}}, ""),
    (
        "pod/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        OWN_CONDITIONS,
    ),
    ("pod/status", {"status": {"phase": "Succeeded"}}, OWN_CONDITIONS),
    (
        "pod/status",
        {"status": {"podIPs": [{"ip": "10.0.0.1"}]}},
        OWN_CONDITIONS,
    ),
    ("pod/status", FOREIGN, "annotations, finalizers and owners of a pod"),
    ("claim", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}, ""),
    ("claim", FOREIGN, "annotations of a volume or a volume claim that are not its own"),
    ("claim", {"spec": {"volumeName": "v"}}, "the adapter sets the claim only"),
    ("claim", {"metadata": {"labels": {"app": "x"}}}, "labels, finalizers and owners of a volume"),
    ("volume", {"spec": {"claimRef": CLAIM}}, ""),
    ("volume", {"spec": {"claimRef": CLAIM, "persistentVolumeReclaimPolicy": "Delete"}}, "the claim only"),
    ("volume", {"spec": {"storageClassName": "other"}}, "the claim only"),
    ("volume", {"metadata": {"finalizers": ["a.b/c"]}}, "labels, finalizers and owners of a volume"),
    ("used volume", {"spec": {"claimRef": CLAIM}}, "the claim only"),
]


def dry_run_rejection(caller: Transport, path: str, change: object) -> str:
    """Return the rejection of a change in a dry run; empty if it is accepted."""
    try:
        caller.patch(path, change, MERGE_PATCH, {"dryRun": "All"})
    except RequestRejected as failure:
        return str(failure)
    return ""


@pytest.fixture
def paths(as_adapter: Transport, cluster: UserCluster) -> dict[str, str]:
    """A pod and pod groups of both kinds, once the policies are in effect."""
    volcano_queue(cluster, "team", gpus=8)
    cluster.workload("kai", pods=1, gpus=1)
    volcano_workload(cluster, "volcano", pods=0, gpus=1, queue="team", minMember=1)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims"
    cluster.transport.post(claims, {"metadata": {"name": "data"}, "spec": claim})
    for name, of_volume in (("free", {}), ("used", {"claimRef": {**CLAIM, "name": "other"}})):
        disk = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/disk"},
        }
        meta = {"name": f"{cluster.namespace}-{name}"}
        cluster.make("/api/v1/persistentvolumes", {"metadata": meta, "spec": {**disk, **of_volume}})
    made = {
        "claim": f"{claims}/data",
        "volume": f"/api/v1/persistentvolumes/{cluster.namespace}-free",
        "used volume": f"/api/v1/persistentvolumes/{cluster.namespace}-used",
        "kai": f"{cluster.path(KAI_POD_GROUP)}/kai",
        "volcano": f"{cluster.path(VOLCANO_POD_GROUP)}/volcano",
        "pod": f"{cluster.pods_path}/kai-0",
    }
    for path in made.values():
        wait_until(lambda path=path: dry_run_rejection(as_adapter, path, FOREIGN))  # type: ignore[misc]
        cluster.transport.patch(path, {"metadata": {"annotations": {"kept": "x"}}}, MERGE_PATCH)
    return made


def test_policies_allow_only_the_required_changes_by_the_adapter(
    as_adapter: Transport, cluster: UserCluster, paths: dict[str, str]
) -> None:
    for place, change, message in CHANGES:
        name, _, subresource = place.partition("/")
        path = f"{paths[name]}/{subresource}".rstrip("/")
        rejection = dry_run_rejection(as_adapter, path, change)
        assert message in rejection if message else not rejection, (place, change, rejection)
        assert dry_run_rejection(cluster.transport, path, change) == "", (place, change, "by others")
