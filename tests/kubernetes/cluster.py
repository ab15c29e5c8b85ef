"""A cluster as the people who use it see it: what they create, and what became of it.

Everything is made the way its owner makes it, through the API server: nodes by their kubelets, queues by an
administrator, pod groups and pods by users and their controllers.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, KAI_QUEUE, CustomKind

PATIENCE_SECONDS: Final = 60.0
"""How long something may take to come about: much longer than it does."""
_UNLIMITED: Final = {"quota": -1, "limit": -1}
_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_T = TypeVar("_T")


def wait_until(look: Callable[[], _T]) -> _T:
    """What is seen as soon as it is neither false nor empty."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.05)
    return seen


class UserCluster:
    """One namespace, and what goes with it: nodes, queues, priority classes."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.transport = transport
        self.namespace = namespace
        self._made: list[str] = []
        """Paths of what is outside of the namespace."""
        transport.post("/api/v1/namespaces", {"metadata": {"name": namespace}})

    def node(self, name: str, gpus: int = 8) -> None:
        """A node that is ready: 64 cores, 512 GiB."""
        self.make("/api/v1/nodes", {"metadata": {"name": name}})
        room = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
        ready = {"type": "Ready", "status": "True"}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        self.transport.patch(f"/api/v1/nodes/{name}/status", {"status": status}, MERGE_PATCH)

    def priorities(self, **values: int) -> None:
        """Priority classes by name."""
        for name, value in values.items():
            self.make(_CLASSES, {"metadata": {"name": name}, "value": value})

    def queue(self, name: str, gpus: int = -1, **spec: Any) -> None:
        """A queue of KAI with a quota of GPUs (-1: unlimited), everything else unlimited."""
        resources = {"cpu": _UNLIMITED, "memory": _UNLIMITED, "gpu": {"quota": gpus, "limit": -1}}
        body = {"metadata": {"name": name}, "spec": {"resources": resources, **spec}}
        self.make(f"/apis/{KAI_QUEUE.api_version}/queues", build_object(KAI_QUEUE, body))

    def workload(
        self,
        name: str,
        pods: int,
        gpus: int,
        *,
        priority: str = "low",
        queue: str = "q",
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """A pod group of KAI with pods of so many GPUs each, named NAME-0, NAME-1, ..., labelled app=NAME.

        It is preemptible and a gang of all its pods unless `spec` says otherwise, or None for nothing.
        """
        terms = {"queue": queue, "priorityClassName": priority, "preemptibility": "preemptible"}
        said = {**terms, "minMember": pods, **spec}
        group = {
            "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations or {}},
            "spec": {key: value for key, value in said.items() if value is not None},
        }
        self.transport.post(self.path(KAI_POD_GROUP), build_object(KAI_POD_GROUP, group))
        for i in range(pods):
            self._member(name, i, gpus)

    def pod(
        self,
        name: str,
        gpus: int,
        *,
        scheduler: str = "kai-scheduler",
        gates: Sequence[str] = (),
        **meta: Any,
    ) -> dict[str, Any]:
        """A pod of one core and so many GPUs; `meta` adds to its metadata, `gates` hold it back."""
        amounts = {"cpu": "1", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        body = {
            "metadata": {"name": name, **meta},
            "spec": {
                "schedulerName": scheduler,
                "containers": [container],
                "schedulingGates": [{"name": gate} for gate in gates],
            },
        }
        made: dict[str, Any] = json.loads(self.transport.post(self.pods_path, body))
        return made

    def again(self, name: str, pods: int, gpus: int) -> None:
        """Pods of a workload that were evicted are made anew, as its controller does. Waits for the old."""
        for i in range(pods):
            pod = f"{name}-{i}"
            wait_until(lambda pod=pod: pod not in self.pods())  # type: ignore[misc]
            self._member(name, i, gpus)

    def end(self, name: str) -> None:
        """All pods of a workload end by themselves and are deleted."""
        for pod in self.pods(name):
            self.transport.delete(f"{self.pods_path}/{pod}")

    def budget(self, name: str, workload: str, available: int) -> None:
        """A disruption budget: so many of the pods with the label app=WORKLOAD must be ready."""
        spec = {"minAvailable": available, "selector": {"matchLabels": {"app": workload}}}
        self.transport.post(self._budgets, {"metadata": {"name": name}, "spec": spec})

    def change_budget(self, name: str, available: int) -> None:
        """Change how many must be ready."""
        self.transport.patch(f"{self._budgets}/{name}", {"spec": {"minAvailable": available}}, MERGE_PATCH)

    def pods(self, workload: str = "") -> dict[str, dict[str, Any]]:
        """Pods by name, all or those of a workload."""
        items = json.loads(self.transport.get(self.pods_path))["items"]
        found = {item["metadata"]["name"]: item for item in items}
        return {name: pod for name, pod in found.items() if not workload or name.startswith(f"{workload}-")}

    def bound(self, workload: str) -> int:
        """How many pods of a workload are on a node and stay there."""
        return sum(is_bound(pod) for pod in self.pods(workload).values())

    def running(self, workload: str) -> int:
        """How many pods of a workload run and stay."""
        pods = self.pods(workload).values()
        return sum(is_bound(pod) and pod["status"]["phase"] == "Running" for pod in pods)

    def group(self, name: str, kind: CustomKind = KAI_POD_GROUP) -> dict[str, Any]:
        """A pod group."""
        found: dict[str, Any] = json.loads(self.transport.get(f"{self.path(kind)}/{name}"))
        return found

    def annotations_of(self, name: str, kind: CustomKind = KAI_POD_GROUP) -> dict[str, str]:
        """Annotations of a pod group, without the prefix of their names."""
        found = self.group(name, kind)["metadata"].get("annotations", {})
        return {key.rpartition("/")[2]: text for key, text in found.items()}

    def conditions_of(self, name: str) -> dict[str, Any]:
        """Our scheduling condition of a pod group of KAI; empty: none yet."""
        conditions = self.group(name).get("status", {}).get("schedulingConditions", [])
        found: dict[str, Any] = next((one for one in conditions if one["nodePool"] == "default"), {})
        return found

    def reasons_of(self, name: str) -> str:
        """The code of the reason that a pod group of KAI waits for; empty: nothing is told."""
        return next((str(one["reason"]) for one in self.conditions_of(name).get("reasons", [])), "")

    def events(self, reason: str) -> list[str]:
        """Names of the objects that have an event with this reason, once for each."""
        return sorted(each["regarding"]["name"] for each in self._events(reason))

    def event_notes(self, reason: str) -> list[str]:
        """What the events with this reason say."""
        return [each["note"] for each in self._events(reason)]

    @property
    def pods_path(self) -> str:
        """Where the API server has the pods."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def path(self, kind: CustomKind) -> str:
        """Where the API server has objects of a kind."""
        return f"/apis/{kind.api_version}/namespaces/{self.namespace}/{kind.plural}"

    def clear(self, *kinds: CustomKind) -> None:
        """Delete what counts for other namespaces: pods, pod groups, and all that is outside of them."""
        self.transport.delete(self.pods_path, {"gracePeriodSeconds": 0})
        for kind in kinds:
            self.transport.delete(self.path(kind))
        for path in self._made:
            self.transport.delete(path)

    def _events(self, reason: str) -> list[dict[str, Any]]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        items = json.loads(self.transport.get(path))["items"]
        return [each for each in items if each["reason"] == reason]

    @property
    def _budgets(self) -> str:
        return f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"

    def _member(self, workload: str, number: int, gpus: int) -> None:
        annotations, labels = {"pod-group-name": workload}, {"app": workload}
        self.pod(f"{workload}-{number}", gpus, annotations=annotations, labels=labels)

    def make(self, collection: str, body: dict[str, Any]) -> None:
        """Create something outside of the namespace."""
        self.transport.post(collection, body)
        self._made.append(f"{collection}/{body['metadata']['name']}")


def is_bound(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is on a node and is not told to end."""
    return "nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]


def build_object(kind: CustomKind, body: dict[str, Any]) -> dict[str, Any]:
    """An object of a kind."""
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}
