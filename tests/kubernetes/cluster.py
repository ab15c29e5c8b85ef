"""A cluster from the view of its users: the objects that they create and their status.

Objects are created by their usual owners, through the API server: nodes by their kubelets, queues by an
administrator, pod groups and pods by users and their controllers.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, KAI_QUEUE, CustomKind

PATIENCE_SECONDS: Final = 60.0
"""Timeout of waits; much longer than any of them takes."""
_UNLIMITED: Final = {"quota": -1, "limit": -1}
_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_T = TypeVar("_T")


def wait_until(look: Callable[[], _T], seconds: float = PATIENCE_SECONDS) -> _T:
    """Wait until the result is neither false nor empty, and return it."""
    end = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.05)
    return seen


class UserCluster:
    """One namespace with its nodes, queues and priority classes."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.transport = transport
        self.namespace = namespace
        self._made: list[str] = []
        """Paths of objects outside of the namespace."""
        transport.post("/api/v1/namespaces", {"metadata": {"name": namespace}})

    def node(self, name: str, gpus: int = 8) -> None:
        """Create a node that is ready, with 64 cores and 512 GiB."""
        self.make("/api/v1/nodes", {"metadata": {"name": name}})
        room = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
        ready = {"type": "Ready", "status": "True"}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        self.transport.patch(f"/api/v1/nodes/{name}/status", {"status": status}, MERGE_PATCH)

    def priorities(self, **values: int) -> None:
        """Create priority classes by name."""
        for name, value in values.items():
            self.make(_CLASSES, {"metadata": {"name": name}, "value": value})

    def queue(self, name: str, gpus: int = -1, **spec: Any) -> None:
        """Create a KAI queue with a quota of GPUs (-1: unlimited) and no other limits."""
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
        """Create a KAI pod group with pods NAME-0, NAME-1, ... of this number of GPUs, labelled app=NAME.

        It is preemptible and a gang of all its pods, unless `spec` sets other values. None removes a value.
        """
        terms = {"queue": queue, "priorityClassName": priority, "preemptibility": "preemptible"}
        values = {**terms, "minMember": pods, **spec}
        group = {
            "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations or {}},
            "spec": {key: value for key, value in values.items() if value is not None},
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
        spec: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> dict[str, Any]:
        """Create a pod with one core and this number of GPUs.

        `meta` adds metadata, `spec` fields; `gates` are scheduling gates.
        """
        amounts = {"cpu": "1", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        body = {
            "metadata": {"name": name, **meta},
            "spec": {
                "schedulerName": scheduler,
                "containers": [container],
                "schedulingGates": [{"name": gate} for gate in gates],
                **(spec or {}),
            },
        }
        made: dict[str, Any] = json.loads(self.transport.post(self.pods_path, body))
        return made

    def again(self, name: str, pods: int, gpus: int) -> None:
        """Recreate the evicted pods of a workload, as its controller does, after the old pods are gone."""
        for i in range(pods):
            pod = f"{name}-{i}"
            wait_until(lambda pod=pod: pod not in self.pods())  # type: ignore[misc]
            self._member(name, i, gpus)

    def end(self, name: str) -> None:
        """End all pods of a workload and delete them."""
        for pod in self.pods(name):
            self.transport.delete(f"{self.pods_path}/{pod}")

    def budget(self, name: str, workload: str, available: int) -> None:
        """Create a disruption budget: this number of pods with the label app=WORKLOAD must be ready."""
        spec = {"minAvailable": available, "selector": {"matchLabels": {"app": workload}}}
        self.transport.post(self._budgets, {"metadata": {"name": name}, "spec": spec})

    def change_budget(self, name: str, available: int) -> None:
        """Change the number of pods that must be ready."""
        self.transport.patch(f"{self._budgets}/{name}", {"spec": {"minAvailable": available}}, MERGE_PATCH)

    def pods(self, workload: str = "") -> dict[str, dict[str, Any]]:
        """Return pods by name, all or those of a workload."""
        items = json.loads(self.transport.get(self.pods_path))["items"]
        found = {item["metadata"]["name"]: item for item in items}
        return {name: pod for name, pod in found.items() if not workload or name.startswith(f"{workload}-")}

    def bound(self, workload: str) -> int:
        """Return the number of pods of a workload that are on a node and do not terminate."""
        return sum(is_bound(pod) for pod in self.pods(workload).values())

    def running(self, workload: str) -> int:
        """Return the number of pods of a workload that run and do not terminate."""
        pods = self.pods(workload).values()
        return sum(is_bound(pod) and pod["status"]["phase"] == "Running" for pod in pods)

    def group(self, name: str, kind: CustomKind = KAI_POD_GROUP) -> dict[str, Any]:
        """Read a pod group."""
        found: dict[str, Any] = json.loads(self.transport.get(f"{self.path(kind)}/{name}"))
        return found

    def annotations_of(self, name: str, kind: CustomKind = KAI_POD_GROUP) -> dict[str, str]:
        """Return the annotations of a pod group, without the prefix of their names."""
        found = self.group(name, kind)["metadata"].get("annotations", {})
        return {key.rpartition("/")[2]: text for key, text in found.items()}

    def wait_for_annotations(self, name: str, *keys: str, kind: CustomKind = KAI_POD_GROUP) -> dict[str, str]:
        """Wait until a pod group has these annotations, and return all that it then has."""

        def look() -> dict[str, str]:
            found = self.annotations_of(name, kind)
            return found if found.keys() >= {*keys} else {}

        return wait_until(look)

    def conditions_of(self, name: str) -> dict[str, Any]:
        """Return Tenure's scheduling condition of a KAI pod group; empty if there is none."""
        conditions = self.group(name).get("status", {}).get("schedulingConditions", [])
        found: dict[str, Any] = next((one for one in conditions if one["nodePool"] == "default"), {})
        return found

    def reasons_of(self, name: str) -> str:
        """Return the reason code of a pending KAI pod group; empty if none is written."""
        return next((str(one["reason"]) for one in self.conditions_of(name).get("reasons", [])), "")

    def events(self, reason: str) -> list[str]:
        """Return the names of the objects that have an event with this reason, each once."""
        return sorted(each["regarding"]["name"] for each in self._events(reason))

    def event_notes(self, reason: str) -> list[str]:
        """Return the notes of the events with this reason."""
        return [each["note"] for each in self._events(reason)]

    @property
    def pods_path(self) -> str:
        """Path of the pods on the API server."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def path(self, kind: CustomKind) -> str:
        """Path of the objects of a kind on the API server."""
        return f"/apis/{kind.api_version}/namespaces/{self.namespace}/{kind.plural}"

    def clear(self, *kinds: CustomKind) -> None:
        """Delete objects that affect other namespaces: pods, pod groups and cluster-scoped objects."""
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
        """Create an object outside of the namespace."""
        self.transport.post(collection, body)
        self._made.append(f"{collection}/{body['metadata']['name']}")


def is_bound(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is on a node and does not terminate."""
    return "nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]


def build_object(kind: CustomKind, body: dict[str, Any]) -> dict[str, Any]:
    """Build an object of a kind."""
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}
