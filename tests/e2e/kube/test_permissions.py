"""The adapter with the rights that the chart gives it: enough for its work, and for nothing else."""

from contextlib import AbstractContextManager
from http import HTTPStatus
from pathlib import Path

import pytest
from tenure.client.kubernetes.transport import Transport

from tests.e2e.kube.installed import Installed, may
from tests.kube.adapting import LEASE, adapting
from tests.kube.audit import Audit
from tests.kube.cluster import Cluster, eventually
from tests.kube.definitions import VOLCANO_POD_GROUP
from tests.kube.owning import owner
from tests.kube.processes import Program, free_port
from tests.kube.volcano import volcano_queue, volcano_workload
from tests.shipping.charts import VALUES

pytestmark = pytest.mark.kube

VOLCANO = VALUES["a node pool of Volcano"]
_REFUSALS = (HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)


def running(installed: Installed, server: str, folder: Path) -> AbstractContextManager[Program]:
    """The adapter as its container runs it, but for what goes with a machine instead of a pod."""
    return adapting(
        folder / "adapter.log",
        *("--config", str(installed.configuration(folder)), "--kubeconfig", str(installed.kubeconfig)),
        *("--server", server, "--cluster-id", installed.namespace, "--lease-duration", LEASE),
        *("--probes-listen", f"127.0.0.1:{free_port()}"),
    )


def refused(audit: Audit, installed: Installed) -> list[str]:
    """What the adapter tried to write and was not permitted to."""
    written = audit.writes(installed.user, installed.namespace)
    assert written
    failed = (one for one in written if one.status in _REFUSALS)
    return [f"{one.verb} {one.resource} {one.name}: {one.status}" for one in failed]


@pytest.mark.usefixtures("as_adapter")
def test_it_may_do_all_that_its_work_takes(
    cluster: Cluster, installed: Installed, server: str, audit: Audit, tmp_path: Path
) -> None:
    job = owner(cluster, "/apis/batch/v1", "Job", "jobs", "train")
    cluster.queue("default-queue")
    with running(installed, server, tmp_path) as adapter:
        cluster.workload("gang", pods=2, gpus=3)
        eventually(lambda: cluster.running("gang") == 2)
        cluster.pod("train-0", gpus=1, ownerReferences=[job])
        eventually(lambda: cluster.running("train") == 1)
        cluster.workload("shared", pods=0, gpus=0, minMember=1, preemptibility="non-preemptible")
        annotations = {"pod-group-name": "shared", "gpu-fraction": "0.5"}
        cluster.pod("shared-0", gpus=0, annotations=annotations)
        eventually(lambda: cluster.running("shared") == 1)
        assert "runai-gpu-group" in cluster.pods("shared")["shared-0"]["metadata"]["labels"]
        eventually(lambda: "last-start-timestamp" in cluster.noted("gang"))
        cluster.workload("urgent", pods=1, gpus=6, priority="high")
        eventually(lambda: cluster.running("urgent") == 1)
        eventually(lambda: cluster.noted("gang").get("eviction-count") == "1")
        eventually(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        cluster.workload("huge", pods=1, gpus=64)
        assert eventually(lambda: cluster.why("huge")) == "NoNodeMatches"
        assert adapter.terminate(30) == 0
        assert "forbidden" not in adapter.output
    assert refused(audit, installed) == []


@pytest.mark.usefixtures("as_adapter")
@pytest.mark.parametrize("installed", [(*VOLCANO, "adapter.config.nodePool=")], indirect=True)
def test_it_may_do_all_that_volcanos_workloads_take(
    bare: Cluster, installed: Installed, server: str, audit: Audit, tmp_path: Path
) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10, high=90)
    volcano_queue(bare, "team", gpus=8)
    with running(installed, server, tmp_path) as adapter:
        volcano_workload(bare, "gang", pods=2, gpus=4, queue="team")
        eventually(lambda: "last-start-timestamp" in bare.noted("gang", VOLCANO_POD_GROUP))
        volcano_workload(bare, "urgent", pods=1, gpus=8, queue="team", priority="high")
        eventually(lambda: bare.running("urgent") == 1)
        eventually(lambda: bare.noted("gang", VOLCANO_POD_GROUP).get("eviction-count") == "1")
        volcano_workload(bare, "huge", pods=1, gpus=64, queue="team")
        eventually(lambda: "conditions" in bare.group("huge", VOLCANO_POD_GROUP).get("status", {}))
        assert "forbidden" not in adapter.output
    assert refused(audit, installed) == []


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
    *(
        ("rbac.authorization.k8s.io", resource, verb)
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
        for verb in ("get", "create", "update", "patch", "bind", "escalate")
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "delete"),
]


def test_it_may_do_nothing_else(as_adapter: Transport, installed: Installed) -> None:
    permitted = []
    for group, whole, verb in FORBIDDEN:
        resource, _, subresource = whole.partition("/")
        asked = {"group": group, "resource": resource, "subresource": subresource, "verb": verb}
        for namespace in (installed.namespace, "default"):
            if may(as_adapter, {**asked, "namespace": namespace}):
                permitted.append((group, whole, verb, namespace))
    assert permitted == []


@pytest.mark.parametrize(
    ("group", "resource", "name"),
    [("coordination.k8s.io", "leases", "tenure"), ("", "configmaps", "tenure-ledger")],
)
def test_its_lease_and_its_ledger_are_the_only_ones_it_may_touch(
    as_adapter: Transport, installed: Installed, group: str, resource: str, name: str
) -> None:
    asked = {"group": group, "resource": resource}
    for verb in ("get", "update"):
        own = {**asked, "verb": verb, "namespace": installed.namespace}
        assert may(as_adapter, {**own, "name": name})
        assert not may(as_adapter, {**own, "name": "other"})
        assert not may(as_adapter, {**own, "name": name, "namespace": "default"})
    for verb in ("list", "watch", "delete", "patch"):
        assert not may(as_adapter, {**asked, "verb": verb, "namespace": installed.namespace, "name": name})
    assert not may(as_adapter, {**asked, "verb": "create", "namespace": "default"})
