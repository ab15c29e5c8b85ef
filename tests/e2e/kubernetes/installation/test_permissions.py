"""The permissions of the chart suffice for the adapter's work and allow nothing else."""

from contextlib import AbstractContextManager
from http import HTTPStatus
from pathlib import Path

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program, free_port
from tests.e2e.kubernetes.installation.installation import Installation, is_permitted
from tests.kubernetes.adapter_process import LEASE, run_adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.resource_definitions import VOLCANO_POD_GROUP
from tests.kubernetes.owner_objects import create_owner
from tests.kubernetes.volcano_objects import volcano_queue, volcano_workload
from tests.packaging.charts import VALUES

pytestmark = pytest.mark.kube

VOLCANO = VALUES["a node pool of Volcano"]
_REFUSALS = (HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)


def run_container_adapter(
    installed: Installation, server: str, folder: Path
) -> AbstractContextManager[Program]:
    """Run the adapter as its container does, except for settings that depend on a pod."""
    return run_adapter(
        folder / "adapter.log",
        *("--config", str(installed.configuration(folder)), "--kubeconfig", str(installed.kubeconfig)),
        *("--server", server, "--cluster-id", installed.namespace, "--lease-duration", LEASE),
        *("--health-listen", f"127.0.0.1:{free_port()}"),
    )


def denied_writes(audit: AuditLog, installed: Installation) -> list[str]:
    """Return the writes of the adapter that were forbidden."""
    written = audit.writes(installed.user, installed.namespace)
    assert written
    failed = (one for one in written if one.status in _REFUSALS)
    return [f"{one.verb} {one.resource} {one.name}: {one.status}" for one in failed]


@pytest.mark.usefixtures("as_adapter")
def test_adapter_has_all_required_permissions(
    cluster: UserCluster, installation: Installation, server: str, audit: AuditLog, tmp_path: Path
) -> None:
    job = create_owner(cluster, "/apis/batch/v1", "Job", "jobs", "train")
    cluster.queue("default-queue")
    with run_container_adapter(installation, server, tmp_path) as adapter:
        cluster.workload("gang", pods=2, gpus=3)
        wait_until(lambda: cluster.running("gang") == 2)
        cluster.pod("train-0", gpus=1, ownerReferences=[job])
        wait_until(lambda: cluster.running("train") == 1)
        cluster.workload("shared", pods=0, gpus=0, minMember=1, preemptibility="non-preemptible")
        annotations = {"pod-group-name": "shared", "gpu-fraction": "0.5"}
        cluster.pod("shared-0", gpus=0, annotations=annotations)
        wait_until(lambda: cluster.running("shared") == 1)
        assert "runai-gpu-group" in cluster.pods("shared")["shared-0"]["metadata"]["labels"]
        wait_until(lambda: "last-start-timestamp" in cluster.annotations_of("gang"))
        cluster.workload("urgent", pods=1, gpus=6, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
        wait_until(lambda: cluster.annotations_of("gang").get("eviction-count") == "1")
        wait_until(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        cluster.workload("huge", pods=1, gpus=64)
        assert wait_until(lambda: cluster.reasons_of("huge")) == "NoNodeMatches"
        assert adapter.terminate(30) == 0
        assert "forbidden" not in adapter.output
    assert denied_writes(audit, installation) == []


@pytest.mark.usefixtures("as_adapter")
@pytest.mark.parametrize("installation", [(*VOLCANO, "adapter.config.nodePool=")], indirect=True)
def test_adapter_has_all_permissions_for_volcano_workloads(
    namespace_only: UserCluster, installation: Installation, server: str, audit: AuditLog, tmp_path: Path
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10, high=90)
    volcano_queue(namespace_only, "team", gpus=8)
    with run_container_adapter(installation, server, tmp_path) as adapter:
        volcano_workload(namespace_only, "gang", pods=2, gpus=4, queue="team")
        wait_until(lambda: "last-start-timestamp" in namespace_only.annotations_of("gang", VOLCANO_POD_GROUP))
        volcano_workload(namespace_only, "urgent", pods=1, gpus=8, queue="team", priority="high")
        wait_until(lambda: namespace_only.running("urgent") == 1)
        wait_until(
            lambda: namespace_only.annotations_of("gang", VOLCANO_POD_GROUP).get("eviction-count") == "1"
        )
        volcano_workload(namespace_only, "huge", pods=1, gpus=64, queue="team")
        wait_until(lambda: "conditions" in namespace_only.group("huge", VOLCANO_POD_GROUP).get("status", {}))
        assert "forbidden" not in adapter.output
    assert denied_writes(audit, installation) == []


FORBIDDEN = [
    *(("", "secrets", verb) for verb in ("get", "list", "watch", "create")),
    *(("", "pods", verb) for verb in ("create", "update", "delete", "deletecollection")),
    *(("", resource, "create") for resource in ("pods/exec", "pods/attach", "pods/portforward")),
    *(("", resource, "get") for resource in ("pods/log", "pods/exec", "nodes/proxy", "namespaces")),
    *(("", "nodes", verb) for verb in ("create", "update", "patch", "delete")),
    *(("", "nodes/status", verb) for verb in ("update", "patch")),
    ("", "serviceaccounts/token", "create"),
    *(("", resource, "impersonate") for resource in ("users", "groups", "serviceaccounts")),
    *(("apps", "deployments", verb) for verb in ("create", "update", "patch", "delete")),
    *(("batch", "jobs", verb) for verb in ("create", "patch", "delete")),
    *(("scheduling.run.ai", "podgroups", verb) for verb in ("create", "update", "delete")),
    *(("scheduling.run.ai", "queues", verb) for verb in ("create", "update", "patch", "delete")),
    ("scheduling.k8s.io", "priorityclasses", "create"),
    ("policy", "poddisruptionbudgets", "patch"),
    *(("", kind, "delete") for kind in ("persistentvolumes", "persistentvolumeclaims")),
    *(("", kind, "create") for kind in ("persistentvolumes", "persistentvolumeclaims")),
    ("storage.k8s.io", "storageclasses", "patch"),
    *(("resource.k8s.io", "resourceclaims", verb) for verb in ("create", "update", "patch", "delete")),
    *(("resource.k8s.io", "resourceslices", verb) for verb in ("create", "patch")),
    *(
        ("rbac.authorization.k8s.io", resource, verb)
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
        for verb in ("get", "create", "update", "patch", "bind", "escalate")
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "delete"),
]


def test_adapter_has_no_other_permissions(as_adapter: Transport, installation: Installation) -> None:
    permitted = []
    for group, whole, verb in FORBIDDEN:
        resource, _, subresource = whole.partition("/")
        asked = {"group": group, "resource": resource, "subresource": subresource, "verb": verb}
        for namespace in (installation.namespace, "default"):
            if is_permitted(as_adapter, {**asked, "namespace": namespace}):
                permitted.append((group, whole, verb, namespace))
    assert permitted == []


@pytest.mark.parametrize(
    ("group", "resource", "name"),
    [("coordination.k8s.io", "leases", "tenure"), ("", "configmaps", "tenure-journal")],
)
def test_adapter_can_access_only_its_own_lease_and_journal(
    as_adapter: Transport, installation: Installation, group: str, resource: str, name: str
) -> None:
    asked = {"group": group, "resource": resource}
    for verb in ("get", "update"):
        own = {**asked, "verb": verb, "namespace": installation.namespace}
        assert is_permitted(as_adapter, {**own, "name": name})
        assert not is_permitted(as_adapter, {**own, "name": "other"})
        assert not is_permitted(as_adapter, {**own, "name": name, "namespace": "default"})
    for verb in ("list", "watch", "delete", "patch"):
        assert not is_permitted(
            as_adapter, {**asked, "verb": verb, "namespace": installation.namespace, "name": name}
        )
    assert not is_permitted(as_adapter, {**asked, "verb": "create", "namespace": "default"})
