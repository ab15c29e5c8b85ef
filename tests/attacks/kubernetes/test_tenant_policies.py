"""The chart's policies refuse what a tenant must not write, and nothing else."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.cluster import UserCluster, build_object, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP, CustomKind

pytestmark = pytest.mark.kube

STORED = "stored times and counts of a pod group"
DEVICES = "labels of shared GPUs"
CLASS = "this priority class is not permitted"
QUEUE = "may not use this queue"
DRY_RUN = {"dryRun": "All"}
CONTAINER = {"name": "main", "image": "none"}
ACCESS = (
    "adapter.config.queueAccess.default=deny",
    "adapter.config.queueAccess.namespaces.ours={story-*}",
    "adapter.config.queueAccess.namespaces.theirs={elsewhere}",
    "adapter.config.priorityClasses={low,high}",
)


def labels(**pairs: str) -> dict[str, Any]:
    return {"labels": pairs}


def queue_label(queue: str) -> dict[str, Any]:
    return {"labels": {"kai.scheduler/queue": queue}}


def annotated(**texts: str) -> dict[str, Any]:
    return {"annotations": {f"kai.scheduler/{key.replace('_', '-')}": text for key, text in texts.items()}}


def pod(meta: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "new", **meta}, "spec": {"containers": [CONTAINER], **spec}}


def template(meta: Mapping[str, Any]) -> dict[str, Any]:
    merged = {"labels": {"app": "a", **meta.get("labels", {})}}
    return {"metadata": merged, "spec": {"containers": [CONTAINER], "restartPolicy": "Always"}}


def deployment(meta: Mapping[str, Any], of_pods: Mapping[str, Any]) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template(of_pods)}
    return {"metadata": {"name": "new", **meta}, "spec": spec}


def cron_job(of_pods: Mapping[str, Any]) -> dict[str, Any]:
    made = template(of_pods)
    made["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": made}}}
    return {"metadata": {"name": "new"}, "spec": spec}


def pod_group(kind: CustomKind, meta: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return build_object(kind, {"metadata": {"name": "new", **meta}, "spec": {"queue": "ours", **spec}})


DEPLOYMENTS, CRON_JOBS = "/apis/apps/v1/{}/deployments", "/apis/batch/v1/{}/cronjobs"
PODS = "/api/v1/{}/pods"
KAI, VOLCANO = (f"/apis/{kind.api_version}/{{}}/{kind.plural}" for kind in (KAI_POD_GROUP, VOLCANO_POD_GROUP))
PROTECTED_ON_CREATION = {
    "honest pod": (PODS, pod({}), ""),
    "device of another pod": (PODS, pod(labels(**{"runai-gpu-group": "n1.gpu-0"})), DEVICES),
    "several devices": (PODS, pod(labels(**{"runai-gpu-group/a": "a"})), DEVICES),
    "annotations of a pod are wishes": (
        PODS,
        pod(annotated(last_start_timestamp="2261-01-01T00:00:00Z")),
        "",
    ),
    "honest pod group": (KAI, pod_group(KAI_POD_GROUP, annotated(preemptibility="preemptible")), ""),
    "start in 2261": (
        KAI,
        pod_group(KAI_POD_GROUP, annotated(last_start_timestamp="2261-01-01T00:00:00Z")),
        STORED,
    ),
    "evictions that never were": (
        VOLCANO,
        pod_group(VOLCANO_POD_GROUP, {"annotations": {"tenure.scheduler/eviction-count": "1000"}}),
        STORED,
    ),
    "a signature": (
        KAI,
        pod_group(KAI_POD_GROUP, {"annotations": {"tenure.scheduler/signature": "1.a"}}),
        STORED,
    ),
    "system class in a label": (PODS, pod(labels(priorityClassName="system-node-critical")), CLASS),
    "system class of a pod group": (
        KAI,
        pod_group(KAI_POD_GROUP, {}, priorityClassName="system-cluster-critical"),
        CLASS,
    ),
    "system class in a template": (
        DEPLOYMENTS,
        deployment({}, labels(priorityClassName="system-node-critical")),
        CLASS,
    ),
    "system class in a label of Run:ai": (
        DEPLOYMENTS,
        deployment(labels(**{"runai/priority-class": "system-node-critical"}), {}),
        CLASS,
    ),
    "system class in an annotation": (
        DEPLOYMENTS,
        deployment({"annotations": {"priorityClassName": "system-node-critical"}}, {}),
        CLASS,
    ),
    "another class in a label": (PODS, pod(labels(priorityClassName="anything")), ""),
}
CONFIGURED_ON_CREATION = {
    "permitted queue": (PODS, pod(queue_label("ours")), ""),
    "no queue": (PODS, pod({}), ""),
    "queue of another team": (PODS, pod(queue_label("theirs")), QUEUE),
    "queue that nobody permitted": (PODS, pod(queue_label("unknown")), QUEUE),
    "queue of another team by Volcano's annotation": (
        PODS,
        pod({"annotations": {"scheduling.volcano.sh/queue-name": "theirs"}}),
        QUEUE,
    ),
    "queue of another team by annotation": (
        DEPLOYMENTS,
        deployment({"annotations": {"kai.scheduler/queue": "theirs"}}, {}),
        QUEUE,
    ),
    "queue of a pod group": (KAI, pod_group(KAI_POD_GROUP, {}, queue="theirs"), QUEUE),
    "queue of a Volcano pod group": (VOLCANO, pod_group(VOLCANO_POD_GROUP, {}, queue="theirs"), QUEUE),
    "queue of a deployment": (DEPLOYMENTS, deployment(queue_label("theirs"), {}), QUEUE),
    "queue of the pods of a deployment": (DEPLOYMENTS, deployment({}, queue_label("theirs")), QUEUE),
    "permitted queue of a deployment": (
        DEPLOYMENTS,
        deployment(queue_label("ours"), queue_label("ours")),
        "",
    ),
    "queue of a cron job": (CRON_JOBS, cron_job(queue_label("theirs")), QUEUE),
    "permitted queue of a cron job": (CRON_JOBS, cron_job(queue_label("ours")), ""),
    "permitted class in a label": (PODS, pod(labels(priorityClassName="high")), ""),
    "another class in a label": (PODS, pod(labels(priorityClassName="highest")), CLASS),
    "the class of the pod in a label": (
        PODS,
        pod(labels(priorityClassName="highest"), priorityClassName="highest"),
        "",
    ),
    "another class of a pod group": (KAI, pod_group(KAI_POD_GROUP, {}, priorityClassName="highest"), CLASS),
}


def rejection_of_creation(user: Transport, cluster: UserCluster, collection: str, body: Any) -> str:
    path = collection.format(f"namespaces/{cluster.namespace}")
    try:
        user.post(path, body, DRY_RUN)
    except RequestRejected as failure:
        return str(failure)
    return ""


def rejection_of_change(user: Transport, path: str, change: object) -> str:
    try:
        user.patch(path, change, MERGE_PATCH, DRY_RUN)
    except RequestRejected as failure:
        return str(failure)
    return ""


def assert_outcomes(outcomes: Callable[[], Mapping[str, tuple[str, str]]]) -> None:
    """Wait until all attempts together have the expected outcome: the rejection, or "" for none.

    A policy takes effect a moment after its creation, and each on its own; those of the previous installation
    still have it for a moment.
    """
    wrong: dict[str, tuple[str, str]] = {}

    def are_right() -> bool:
        found = outcomes().items()
        wrong.clear()
        wrong.update(
            {name: (rejection, wanted) for name, (rejection, wanted) in found if not _is(rejection, wanted)}
        )
        return not wrong

    with suppress(AssertionError):
        wait_until(are_right)
    assert wrong == {}


def _is(rejection: str, wanted: str) -> bool:
    return wanted in rejection if wanted else rejection == ""


def assert_rejections(user: Transport, cluster: UserCluster, attempts: Mapping[str, Any]) -> None:
    admin = cluster.transport
    assert_outcomes(
        lambda: {
            name: (rejection_of_creation(user, cluster, path, body), message)
            for name, (path, body, message) in attempts.items()
        }
    )
    of_admin = {
        name: rejection_of_creation(admin, cluster, path, body)
        for name, (path, body, message) in attempts.items()
        if message not in (QUEUE, CLASS)
    }
    assert {name: rejection for name, rejection in of_admin.items() if rejection} == {}


@pytest.mark.usefixtures("installation")
def test_tenant_cannot_create_objects_with_fields_of_the_scheduler(
    cluster: UserCluster, tenant: Transport
) -> None:
    cluster.priorities(anything=5)
    assert_rejections(tenant, cluster, PROTECTED_ON_CREATION)


@pytest.mark.usefixtures("installation")
@pytest.mark.parametrize("installation", [ACCESS], indirect=True)
def test_tenant_can_name_only_permitted_queues_and_classes(cluster: UserCluster, tenant: Transport) -> None:
    assert_rejections(tenant, cluster, CONFIGURED_ON_CREATION)


@pytest.mark.usefixtures("installation")
@pytest.mark.parametrize(
    "installation", [("adapter.config.queueAccess.namespaceLabels=true",)], indirect=True
)
def test_label_of_the_namespace_permits_a_queue(cluster: UserCluster, tenant: Transport) -> None:
    theirs, body = "theirs", pod(queue_label("theirs"))
    wait_until(lambda: QUEUE in rejection_of_creation(tenant, cluster, PODS, body))
    change = {"metadata": labels(**{f"queues.tenure.scheduler/{theirs}": ""})}
    path = f"/api/v1/namespaces/{cluster.namespace}"
    with pytest.raises(RequestRejected):
        tenant.patch(path, change, MERGE_PATCH)
    cluster.transport.patch(path, change, MERGE_PATCH)
    wait_until(lambda: not rejection_of_creation(tenant, cluster, PODS, body))
    assert QUEUE in rejection_of_creation(tenant, cluster, PODS, pod(queue_label("other")))


@pytest.fixture
def older_workload(cluster: UserCluster) -> None:
    """A workload from before the installation, in a queue that its namespace may not use."""

    group = pod_group(KAI_POD_GROUP, {}, queue="theirs", priorityClassName="highest")
    # The policies of the last test may still have an effect.
    wait_until(lambda: not rejection_of_creation(cluster.transport, cluster, KAI, group))
    cluster.workload("job", pods=1, gpus=1, queue="theirs", priority="highest")


@pytest.mark.usefixtures("older_workload", "installation")
@pytest.mark.parametrize("installation", [ACCESS], indirect=True)
def test_tenant_cannot_change_fields_of_the_scheduler_and_others_stay_writable(
    cluster: UserCluster, tenant: Transport, as_adapter: Transport
) -> None:
    job, its_pod = f"{cluster.path(KAI_POD_GROUP)}/job", f"{cluster.pods_path}/job-0"
    stored = {"metadata": annotated(last_start_timestamp="2026-01-01T00:00:00Z")}
    device = {"metadata": labels(**{"runai-gpu-group": "n1.gpu-0"})}
    for path, change in ((job, stored), (its_pod, device)):
        cluster.transport.patch(path, change, MERGE_PATCH)
    forged = {"metadata": annotated(last_start_timestamp="2261-01-01T00:00:00Z")}
    removed = {"metadata": {"annotations": {"kai.scheduler/last-start-timestamp": None}}}
    attempts = [
        (job, forged, STORED),
        (job, removed, STORED),
        (job, {"metadata": annotated(expected_runtime="1h")}, ""),
        (job, {"spec": {"minMember": 1}}, ""),
        (job, {"spec": {"queue": "unknown"}}, QUEUE),
        (job, {"spec": {"queue": "ours"}}, ""),
        (job, {"spec": {"priorityClassName": "system-node-critical"}}, CLASS),
        (its_pod, {"metadata": labels(**{"runai-gpu-group": "n1.gpu-1"})}, DEVICES),
        (its_pod, {"metadata": {"labels": {"runai-gpu-group": None}}}, DEVICES),
        (its_pod, {"metadata": {"labels": {"runai-gpu-group/b": "b"}}}, DEVICES),
        (its_pod, {"metadata": labels(color="red")}, ""),
        (its_pod, {"metadata": queue_label("theirs")}, QUEUE),
    ]
    assert_outcomes(
        lambda: {
            f"{path} {change}": (rejection_of_change(tenant, path, change), message)
            for path, change, message in attempts
        }
    )
    assert rejection_of_change(as_adapter, job, stored) == ""
    assert rejection_of_change(as_adapter, its_pod, {"metadata": labels(**{"runai-gpu-group": "x"})}) == ""


def test_adapter_cannot_evict_or_bind_in_protected_namespaces(
    cluster: UserCluster, as_adapter: Transport
) -> None:
    """A request to evict contains no pod: a policy sees its namespace, not the scheduler of the pod."""
    made = pod({}, schedulerName="kai-scheduler")
    path = "/api/v1/namespaces/kube-system/pods"
    cluster.transport.post(path, made)
    try:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "new"}}
        binding = {"metadata": {"name": "new"}, "target": {"kind": "Node", "name": "n1"}}
        for subresource, body in (("eviction", eviction), ("binding", binding)):
            target = f"{path}/new/{subresource}"
            wait_until(
                lambda target=target, body=body: (  # type: ignore[misc]
                    "does not bind or evict pods in this namespace"
                    in rejection_of_creation(as_adapter, cluster, target, body)
                )
            )
    finally:
        cluster.transport.delete(f"{path}/new", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize("installation", [("adapter.config.evictionMode=delete",)], indirect=True)
def test_adapter_deletes_only_pods_of_its_scheduler(cluster: UserCluster, as_adapter: Transport) -> None:
    cluster.pod("ours", gpus=1)
    cluster.pod("theirs", gpus=1, scheduler="default-scheduler")

    def rejection(name: str) -> str:
        try:
            as_adapter.delete(f"{cluster.pods_path}/{name}", {"dryRun": ["All"]})
        except RequestRejected as failure:
            return str(failure)
        return ""

    wait_until(lambda: "pods of its own scheduler only" in rejection("theirs"))
    assert rejection("ours") == ""
