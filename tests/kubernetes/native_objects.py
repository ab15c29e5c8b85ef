"""Pod groups of Kubernetes itself, as their users and controllers create them, in version 1.36."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.kubernetes.cluster import UserCluster, build_object
from tests.kubernetes.environment.resource_definitions import CustomKind

NATIVE_POD_GROUP: Final = CustomKind(
    "scheduling.k8s.io", "v1alpha2", "PodGroup", "podgroups", namespaced=True, has_status=True
)
GATES: Final = (
    "GenericWorkload",
    "GangScheduling",
    "TopologyAwareWorkloadScheduling",
    "WorkloadAwarePreemption",
    "DRAWorkloadResourceClaims",
)
"""Feature gates of all fields of a pod group."""
API_FLAGS: Final = (
    f"--feature-gates={','.join(f'{gate}=true' for gate in GATES)}",
    f"--runtime-config={NATIVE_POD_GROUP.api_version}=true",
)
_LABELS: Final = {"kai.scheduler/queue": "q", "kai.scheduler/preemptibility": "preemptible"}


def native_group(cluster: UserCluster, name: str, least: int, **spec: Any) -> None:
    """Create a preemptible pod group of queue q, and a gang of this number of pods."""
    policy = {"gang": {"minCount": least}}
    body = {
        "metadata": {"name": name, "labels": _LABELS},
        "spec": {"schedulingPolicy": policy, "priorityClassName": "low", **spec},
    }
    cluster.transport.post(cluster.path(NATIVE_POD_GROUP), build_object(NATIVE_POD_GROUP, body))


def native_pods(cluster: UserCluster, name: str, pods: int, gpus: int) -> None:
    """Create pods NAME-0, NAME-1, ... that name a pod group, which may not exist yet."""
    for i in range(pods):
        cluster.pod(f"{name}-{i}", gpus, spec={"schedulingGroup": {"podGroupName": name}})


def native_gang(cluster: UserCluster, name: str, pods: int, gpus: int, **spec: Any) -> None:
    """Create a pod group and its pods, which start together."""
    native_group(cluster, name, pods, **spec)
    native_pods(cluster, name, pods, gpus)


def native_condition(cluster: UserCluster, name: str) -> Mapping[str, str]:
    """Return the condition of the scheduler; empty if there is none."""
    conditions = cluster.group(name, NATIVE_POD_GROUP).get("status", {}).get("conditions", [])
    found: dict[str, str] = next((one for one in conditions if one["type"] == "PodGroupScheduled"), {})
    return found


def remove_native_groups(cluster: UserCluster) -> None:
    """Delete all pod groups of the namespace, without the controller that waits for their pods."""
    collection = cluster.path(NATIVE_POD_GROUP)
    for one in json.loads(cluster.transport.get(collection))["items"]:
        path = f"{collection}/{one['metadata']['name']}"
        cluster.transport.patch(path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
        cluster.transport.delete(path)
