"""One namespace of a whole cluster, with its own nodes and queues: what users create, and what they see."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.api.api_errors import NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.cluster import UserCluster, build_object, is_bound, wait_until
from tests.kubernetes.environment.manifests import collection, create
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

OURS: Final = "kai-scheduler"
THEIRS: Final = "default-scheduler"
"""The name of kube-scheduler."""
RUN_FOR: Final = "kwok.test/run-for"
AT_DEADLINE: Final = {"kwok.test/ends": "at-deadline"}
"""Annotation of pods that use all of their grace period."""
_APPS, _BATCH = "apps/v1", "batch/v1"
_APIS: Final = {
    "Deployment": _APPS,
    "StatefulSet": _APPS,
    "DaemonSet": _APPS,
    "Job": _BATCH,
    "CronJob": _BATCH,
}
_RETURNS_SOON: Final = {
    "completionMode": "Indexed",
    "backoffLimitPerIndex": 6,
    "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
}
"""Else a job replaces evicted pods after a pause that doubles with each of them, and fails after some."""
_STORY: Final = "story"
"""Label of nodes; pods select the nodes of their story."""


class Story(UserCluster):
    """Pods come from real controllers; names of nodes and queues begin with the name of the namespace."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        super().__init__(transport, namespace)
        wait_until(self._has_account)

    def node(self, name: str, gpus: int = 8) -> None:
        """Add a node with 64 cores and 512 GiB, and wait until its kubelet is ready."""
        full = self.full(name)
        labels = {"type": "kwok", _STORY: self.namespace, "kubernetes.io/hostname": full}
        amounts = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
        status = {"allocatable": amounts, "capacity": amounts}
        self.make("/api/v1/nodes", {"metadata": {"name": full, "labels": labels}, "status": status})
        wait_until(lambda: not self.object("Node", full)["spec"].get("taints"))

    def queue(self, name: str, gpus: int = -1, **spec: Any) -> None:
        """Create a queue of this story."""
        super().queue(self.full(name), gpus, **spec)

    def full(self, name: str) -> str:
        """The name of a node or queue of this story."""
        return f"{self.namespace}-{name}"

    def deployment(self, name: str, replicas: int, gpus: int, **terms: Any) -> None:
        """Create a Deployment. `terms` are those of `template`, and `spec`."""
        self._create("Deployment", name, {"replicas": replicas}, gpus, terms)

    def stateful_set(self, name: str, replicas: int, gpus: int, **terms: Any) -> None:
        """Create a StatefulSet. `terms` are those of `template`, and `spec`."""
        self._create("StatefulSet", name, {"replicas": replicas, "serviceName": name}, gpus, terms)

    def daemon_set(self, name: str, **terms: Any) -> None:
        """Create a DaemonSet without GPUs. `terms` are those of `template`."""
        self._create("DaemonSet", name, {}, 0, terms)

    def job(self, name: str, pods: int, gpus: int, **terms: Any) -> None:
        """Create a Job with this number of pods at a time. `terms` are those of `template`, and `spec`."""
        self._create("Job", name, {"parallelism": pods, "completions": pods}, gpus, terms)

    def cron_job(self, name: str, schedule: str, gpus: int, **terms: Any) -> None:
        """Create a CronJob with one pod. `terms` are those of `template`."""
        self._create("CronJob", name, {"schedule": schedule}, gpus, terms)

    def gang(self, name: str, pods: int, gpus: int, *, queue: str = "q", **terms: Any) -> None:
        """Create a Job whose pods start together or not at all. `priority` names their class."""
        spec = {"queue": self.full(queue), "minMember": pods, "preemptibility": "preemptible"}
        spec["priorityClassName"] = terms.pop("priority", "train")
        meta = {"name": name, "namespace": self.namespace}
        create(self.transport, build_object(KAI_POD_GROUP, {"metadata": meta, "spec": spec}))
        annotations = {"pod-group-name": name, **terms.pop("annotations", {})}
        of_job = {**_RETURNS_SOON, **terms.pop("spec", {})}
        self.job(name, pods, gpus, queue=queue, annotations=annotations, spec=of_job, **terms)

    def template(
        self,
        app: str,
        gpus: int,
        *,
        cpu: str = "1",
        scheduler: str = OURS,
        annotations: Mapping[str, str] | None = None,
        grace_seconds: int = 30,
        **spec: Any,
    ) -> dict[str, Any]:
        """Build a pod template on the nodes of this story, with the label app=APP."""
        amounts = {"cpu": cpu, **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        terms = {
            "schedulerName": scheduler,
            "nodeSelector": {_STORY: self.namespace},
            "terminationGracePeriodSeconds": grace_seconds,
            "containers": [container],
            **spec,
        }
        return {"metadata": {"labels": {"app": app}, "annotations": annotations or {}}, "spec": terms}

    def object(self, kind: str, name: str) -> dict[str, Any]:
        """Read an object."""
        found: dict[str, Any] = json.loads(self.transport.get(self._path(kind, name)))
        return found

    def change(self, kind: str, name: str, change: Mapping[str, Any], subresource: str = "") -> None:
        """Change fields of an object."""
        self.transport.patch(f"{self._path(kind, name)}{subresource}", dict(change), MERGE_PATCH)

    def scale(self, kind: str, name: str, replicas: int) -> None:
        """Change the number of replicas."""
        self.change(kind, name, {"spec": {"replicas": replicas}})

    def delete(self, kind: str, name: str) -> None:
        """Delete an object; the pods that it owns follow."""
        self.transport.delete(self._path(kind, name), {"propagationPolicy": "Background"})

    def finish(self, workload: str) -> None:
        """Let the pods of a workload end with exit code 0, now."""
        for pod in self.live(workload):
            self.change("Pod", pod, {"metadata": {"annotations": {RUN_FOR: "1ms"}}})

    def evict(self, pod: str) -> None:
        """Evict a pod, as `kubectl drain` does."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        self.transport.post(f"{self.pods_path}/{pod}/eviction", body)

    def live(self, workload: str) -> dict[str, str]:
        """The nodes of pods of a workload that are on one and do not terminate, by name of the pod."""
        pods = self.pods(workload).items()
        prefix = len(self.full(""))
        return {name: pod["spec"]["nodeName"][prefix:] for name, pod in pods if is_bound(pod)}

    def on_nodes(self) -> set[str]:
        """Names of all pods that are on a node and have not ended, also of those that terminate."""
        pods = self.pods().items()
        ended = ("Succeeded", "Failed")
        return {
            name for name, pod in pods if "nodeName" in pod["spec"] and pod["status"]["phase"] not in ended
        }

    def waiting(self, workload: str) -> dict[str, str]:
        """The reasons of pods of a workload that are on no node, by name of the pod; empty if untold."""
        pods = self.pods(workload).items()
        return {name: _reason(pod) for name, pod in pods if "nodeName" not in pod["spec"]}

    def end_story(self) -> None:
        """Delete everything of the story, and wait for its pods; of those, no kubelet is asked."""
        for kind in _APIS:
            path = self._path(kind, "").rstrip("/")
            self.transport.delete(path, {"propagationPolicy": "Background"})
        wait_until(self._has_no_pods)
        self.transport.delete(f"/api/v1/namespaces/{self.namespace}")
        for path in self._made:
            try:
                self.transport.delete(path)
            except NotFound:  # a story deleted it
                continue

    def _create(
        self, kind: str, name: str, of_kind: dict[str, Any], gpus: int, terms: dict[str, Any]
    ) -> None:
        queue, labels = terms.pop("queue", "q"), terms.pop("labels", {})
        spec = {**of_kind, **terms.pop("spec", {})}
        if _APIS[kind] == _APPS:
            spec["selector"] = {"matchLabels": {"app": name}}
        else:
            terms.setdefault("restartPolicy", "Never")
        template = self.template(name, gpus, **terms)
        if kind == "CronJob":
            spec["jobTemplate"] = {"spec": {"template": template}}
        else:
            spec["template"] = template
        meta = {"name": name, "labels": {"kai.scheduler/queue": self.full(queue), **labels}}
        made = {"apiVersion": _APIS[kind], "kind": kind, "metadata": meta, "spec": spec}
        create(self.transport, made, self.namespace)

    def _path(self, kind: str, name: str) -> str:
        api = {**_APIS, "PodGroup": KAI_POD_GROUP.api_version}.get(kind, "v1")
        return f"{collection({'apiVersion': api, 'kind': kind}, self.namespace)}/{name}"

    def _has_account(self) -> bool:
        try:
            return bool(self.object("ServiceAccount", "default"))
        except NotFound:
            return False

    def _has_no_pods(self) -> bool:
        self.transport.delete(self.pods_path, {"gracePeriodSeconds": 0})
        return not self.pods()


def _reason(pod: Mapping[str, Any]) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "PodScheduled"), "")
