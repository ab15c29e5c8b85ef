"""The chart's admission policies: they permit the adapter's changes and do not affect other users."""

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP
from tests.kubernetes.volcano_objects import volcano_queue, volcano_workload

pytestmark = pytest.mark.kube

FOREIGN = {"metadata": {"annotations": {"foreign": "x"}}}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}
SCHEDULED = {"type": "Scheduled", "status": "True"}
NOT_SCHEDULED = {"type": "PodScheduled", "status": "False"}
FOREIGN_POD_GROUP = "annotations of a pod group that are not its own"
POOL = "kai.scheduler/node-pool"
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
    ("kai/status", {"status": {"conditions": [SCHEDULED]}}, "scheduling conditions only"),
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
    ("pod/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "PodScheduled only"),
    ("pod/status", {"status": {"phase": "Succeeded"}}, "PodScheduled only"),
    ("pod/status", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "PodScheduled only"),
    ("pod/status", FOREIGN, "annotations, finalizers and owners of a pod"),
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
    made = {
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
