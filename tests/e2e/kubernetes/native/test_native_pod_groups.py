"""Pod groups of Kubernetes itself on a real API server: gangs and messages to users."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tenure.client.client import Client
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.attacks.kubernetes.tenant import create_tenant
from tests.e2e.cluster.kubectl import Kubectl
from tests.e2e.kubernetes.conftest import Adapter
from tests.e2e.kubernetes.installation.installation import Installation
from tests.e2e.kubernetes.installation.test_permissions import denied_writes, run_container_adapter
from tests.e2e.kubernetes.test_status_stability import reconcile, write_counts
from tests.kubernetes.cluster import UserCluster, build_object, wait_until
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import (
    KAI_TOPOLOGY,
)
from tests.kubernetes.native_objects import (
    NATIVE_POD_GROUP,
    native_condition,
    native_gang,
    native_group,
    native_pods,
)

pytestmark = pytest.mark.kube

DRY_RUN = {"dryRun": "All"}


def message_of(cluster: UserCluster, pod: str) -> str:
    """Why a pod waits; empty if it is not told."""
    conditions = cluster.pods()[pod].get("status", {}).get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def test_gang_starts_whole(cluster: UserCluster, adapter: Adapter) -> None:
    with adapter():
        native_group(cluster, "gang", 3)
        native_pods(cluster, "gang", 2, 2)
        wait_until(lambda: native_condition(cluster, "gang").get("reason") == "NotReady")
        assert cluster.bound("gang") == 0
        cluster.pod("gang-2", 2, spec={"schedulingGroup": {"podGroupName": "gang"}})
        wait_until(lambda: cluster.running("gang") == 3)
        wait_until(lambda: native_condition(cluster, "gang").get("status") == "True")
        cluster.wait_for_annotations("gang", "last-start-timestamp", kind=NATIVE_POD_GROUP)


def test_gang_waits_whole(cluster: UserCluster, adapter: Adapter) -> None:
    native_gang(cluster, "gang", pods=3, gpus=4)
    with adapter():
        found = wait_until(lambda: native_condition(cluster, "gang"))
        assert (found["status"], found["reason"]) == ("False", "NoCapacity")
        assert cluster.bound("gang") == 0
        cluster.node("n2", gpus=4)
        wait_until(lambda: cluster.running("gang") == 3)
        wait_until(lambda: native_condition(cluster, "gang").get("status") == "True")


def test_gang_is_evicted_whole(cluster: UserCluster, adapter: Adapter) -> None:
    """With disruption mode PodGroup also the pods above its minimum."""
    native_gang(cluster, "core", pods=2, gpus=2)
    native_group(cluster, "whole", 1, disruptionMode="PodGroup")
    native_pods(cluster, "whole", 2, 2)
    with adapter():
        for name in ("core", "whole"):
            wait_until(lambda name=name: cluster.running(name) == 2)  # type: ignore[misc]
            cluster.wait_for_annotations(name, "last-start-timestamp", kind=NATIVE_POD_GROUP)
        native_gang(cluster, "urgent", pods=2, gpus=3, priorityClassName="high")
        wait_until(lambda: cluster.running("urgent") == 2)
        wait_until(lambda: not cluster.pods("core") and not cluster.pods("whole"))
        for name in ("core", "whole"):
            wait_until(
                lambda name=name: (  # type: ignore[misc]
                    cluster.annotations_of(name, NATIVE_POD_GROUP).get("eviction-count") == "1"
                )
            )
        native_pods(cluster, "core", 2, 2)
        wait_until(lambda: native_condition(cluster, "core").get("status") == "False")


def test_missing_pod_group_is_named_until_it_exists(cluster: UserCluster, adapter: Adapter) -> None:
    cluster.queue("default-queue")
    native_pods(cluster, "gang", 2, 1)
    with adapter():
        missing = "its pod group 'gang' of scheduling.k8s.io does not exist"
        for name in ("gang-0", "gang-1"):
            wait_until(lambda name=name: missing in message_of(cluster, name))  # type: ignore[misc]
        assert cluster.bound("gang") == 0
        native_group(cluster, "gang", 2)
        wait_until(lambda: cluster.running("gang") == 2)


def test_unsupported_field_is_named(cluster: UserCluster, adapter: Adapter) -> None:
    claims = [{"name": "gpus", "resourceClaimName": "shared"}]
    native_gang(cluster, "claims", pods=1, gpus=1, resourceClaims=claims)
    with adapter():
        found = wait_until(lambda: native_condition(cluster, "claims"))
        assert found["reason"] == "Blocked"
        assert "spec.resourceClaims of pod group 'claims' is not supported" in found["message"]
        assert cluster.bound("claims") == 0


def test_gang_with_a_topology_key_runs_in_one_domain(cluster: UserCluster, adapter: Adapter) -> None:
    levels = [{"nodeLabel": "rack"}]
    cluster.make(
        f"/apis/{KAI_TOPOLOGY.api_version}/topologies",
        {"apiVersion": KAI_TOPOLOGY.api_version, "kind": "Topology", "metadata": {"name": "racks"}}
        | {"spec": {"levels": levels}},
    )
    for name, rack, gpus in (("n2", "a", 5), ("n3", "b", 4), ("n4", "b", 4)):
        cluster.node(name, gpus)
        cluster.transport.patch(
            f"/api/v1/nodes/{name}", {"metadata": {"labels": {"rack": rack}}}, MERGE_PATCH
        )
    cluster.transport.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": True}}, MERGE_PATCH)
    constraint = {"topology": [{"key": "rack"}]}
    native_gang(cluster, "gang", pods=2, gpus=4, schedulingConstraints=constraint)
    with adapter():
        wait_until(lambda: cluster.running("gang") == 2)
        assert {pod["spec"]["nodeName"] for pod in cluster.pods("gang").values()} == {"n3", "n4"}


def test_unchanged_cluster_causes_no_write(
    cluster: UserCluster, adapter: Adapter, audit: AuditLog, server: str
) -> None:
    cluster.queue("default-queue")
    with adapter(), Client(server) as client:
        native_gang(cluster, "runs", pods=2, gpus=2)
        wait_until(lambda: native_condition(cluster, "runs").get("status") == "True")
        cluster.wait_for_annotations("runs", "last-start-timestamp", kind=NATIVE_POD_GROUP)
        native_gang(cluster, "huge", pods=1, gpus=64)
        native_pods(cluster, "orphan", 1, 1)
        native_group(cluster, "of-others", 1)  # of a scheduler that nobody knows yet
        wait_until(lambda: native_condition(cluster, "huge").get("status") == "False")
        wait_until(lambda: "does not exist" in message_of(cluster, "orphan-0"))
        cluster.workload("last-0", pods=1, gpus=64)
        wait_until(lambda: cluster.reasons_of("last-0"))  # after all earlier conditions
        before = write_counts(audit, cluster)
        reconcile(cluster, client)
        cluster.workload("last-1", pods=1, gpus=64)
        wait_until(lambda: cluster.reasons_of("last-1"))
        assert write_counts(audit, cluster) == before
        assert before[("podgroups/status", "huge")] == before[("pods/status", "orphan-0")] == 1
        assert not before[("podgroups/status", "of-others")]


def test_people_see_pod_groups_with_the_plugin(
    plane: ControlPlane, cluster: UserCluster, adapter: Adapter
) -> None:
    kubectl = Kubectl(plane.kubeconfig())
    name = f"podgroup.{NATIVE_POD_GROUP.group}/huge"

    def plugin(*arguments: str) -> str:
        return kubectl.output("tenure", *arguments, "--namespace", cluster.namespace)

    native_gang(cluster, "huge", pods=1, gpus=64)
    with adapter():
        wait_until(lambda: native_condition(cluster, "huge"))
        (shown,) = json.loads(plugin("workloads", "--output", "json"))["workloads"]
        assert (shown["name"], shown["queue"], shown["code"]) == ("huge", "q", "NoNodeMatches")
        plugin("set", "preemptibility", name, "Non-Preemptible")
        assert cluster.annotations_of("huge", NATIVE_POD_GROUP)["preemptibility"] == "Non-Preemptible"


@pytest.mark.usefixtures("as_adapter")
def test_rights_of_the_chart_suffice(
    cluster: UserCluster, installation: Installation, server: str, audit: AuditLog, tmp_path: Path
) -> None:
    with run_container_adapter(installation, server, tmp_path) as running:
        native_gang(cluster, "gang", pods=2, gpus=4)
        wait_until(lambda: native_condition(cluster, "gang").get("status") == "True")
        cluster.wait_for_annotations("gang", "last-start-timestamp", kind=NATIVE_POD_GROUP)
        native_gang(cluster, "urgent", pods=1, gpus=8, priorityClassName="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        cluster.wait_for_annotations("gang", "eviction-count", kind=NATIVE_POD_GROUP)
        native_gang(cluster, "huge", pods=1, gpus=64)
        wait_until(lambda: native_condition(cluster, "huge").get("status") == "False")
        assert "forbidden" not in running.output
    assert denied_writes(audit, installation) == []


POLICIES = (
    "adapter.config.queueAccess.namespaces.theirs={elsewhere}",
    "adapter.config.priorityClasses={low}",
)
REFUSED = {
    "stored count": (
        {"annotations": {"tenure.scheduler/eviction-count": "9"}},
        {},
        "stored times and counts of a pod group",
    ),
    "queue of others": ({"labels": {"kai.scheduler/queue": "theirs"}}, {}, "may not use this queue"),
    "class of others": ({}, {"priorityClassName": "highest"}, "this priority class is not permitted"),
    "honest": ({"labels": {"kai.scheduler/queue": "q"}}, {"priorityClassName": "low"}, ""),
}


@pytest.mark.usefixtures("installation")
@pytest.mark.parametrize("installation", [POLICIES], indirect=True)
def test_policies_hold_for_these_pod_groups(plane: ControlPlane, cluster: UserCluster) -> None:
    """The stock role `edit` permits users to create them."""
    with closing(Transport(create_tenant(plane, cluster))) as tenant:

        def refusal(meta: dict[str, Any], spec: dict[str, Any]) -> str:
            policy = {"gang": {"minCount": 1}}
            made = {"metadata": {"name": "g", **meta}, "spec": {"schedulingPolicy": policy, **spec}}
            try:
                tenant.post(cluster.path(NATIVE_POD_GROUP), build_object(NATIVE_POD_GROUP, made), DRY_RUN)
            except RequestRejected as rejected:
                return str(rejected)
            return ""

        for meta, spec, text in REFUSED.values():
            if text:
                found = wait_until(lambda meta=meta, spec=spec: refusal(meta, spec))  # type: ignore[misc]
                assert text in found
            else:
                assert refusal(meta, spec) == ""
