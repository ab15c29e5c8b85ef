"""Raw requests to an API server and its raw responses, without interpretation."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import httpx2
from tenure.kubernetes.api.transport import APPLY_PATCH, JSON, MERGE_PATCH

from tests.kubernetes.environment.control_plane import ADMIN_TOKEN

_SECONDS: Final = 20.0
_NAMES: Final = count(1)
Item = dict[str, Any]


class ApiServer(Protocol):
    """The API server under test: the fake one, or a control plane."""

    @property
    def url(self) -> str:
        """Its URL."""

    def kubeconfig(self) -> Path:
        """Write a kubeconfig file of an administrator."""

    def compact(self) -> None:
        """Discard the history and end all watches."""


class RawResponse(NamedTuple):
    """A response."""

    status: int
    body: Item
    headers: httpx2.Headers

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[str]:
        """Reasons of the causes of a Status."""
        return [cause.get("reason", "") for cause in self.body.get("details", {}).get("causes", [])]

    @property
    def version(self) -> str:
        """The version of the object or of the list."""
        return str(self.body["metadata"]["resourceVersion"])


class RawClient:
    """A client with a token. It does not verify the certificate."""

    def __init__(self, url: str, token: str = ADMIN_TOKEN) -> None:
        self.url = url
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=url, verify=False, headers=headers, timeout=_SECONDS)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self, method: str, path: str, body: Any = None, media: str = JSON, **query: str
    ) -> RawResponse:
        """Send a request."""
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": media} if content else {}
        came = self._http.request(method, path, params=query, content=content, headers=headers)
        is_json = came.headers["Content-Type"].startswith(JSON)
        return RawResponse(came.status_code, came.json() if is_json else {"message": came.text}, came.headers)

    def get(self, path: str, **query: str) -> RawResponse:
        """Send a GET request."""
        return self.request("GET", path, **query)

    def make(self, collection: str, body: Any) -> Item:
        """Create an object and assert that it is accepted."""
        came = self.request("POST", collection, body)
        assert came.status == 201, came.body
        return came.body

    def merge(self, path: str, body: Any) -> RawResponse:
        """Send a merge patch."""
        return self.request("PATCH", path, body, MERGE_PATCH)

    def apply(self, path: str, manager: str, body: Any, **query: str) -> RawResponse:
        """Send a server-side apply request."""
        return self.request("PATCH", path, body, APPLY_PATCH, fieldManager=manager, **query)

    @contextmanager
    def watch(self, path: str, **query: str) -> Iterator[Iterator[Item]]:
        """Return the events of a watch as they arrive, after its status 200."""
        with self._http.stream("GET", path, params={"watch": "true", **query}) as came:
            assert came.status_code == 200
            yield (json.loads(line) for line in came.iter_lines())


class ClientNamespace:
    """A separate namespace, and methods to create and read objects in it."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.name = f"contract-{next(_NAMES)}"
        client.make("/api/v1/namespaces", {"metadata": {"name": self.name}})
        self.pods = f"/api/v1/namespaces/{self.name}/pods"
        self.budgets = f"/apis/policy/v1/namespaces/{self.name}/poddisruptionbudgets"
        self.leases = f"/apis/coordination.k8s.io/v1/namespaces/{self.name}/leases"
        self.maps = f"/api/v1/namespaces/{self.name}/configmaps"

    def pod(self, name: str = "a", spec: Item | None = None, **meta: Any) -> Item:
        """Create a pending pod."""
        containers = [{"name": "main", "image": "none"}]
        body = {"metadata": {"name": name, **meta}, "spec": {"containers": containers, **(spec or {})}}
        return self.client.make(self.pods, body)

    def bind(self, name: str = "a", node: str = "n1", **meta: str) -> RawResponse:
        """Post a binding."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": self.name, **meta},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        return self.client.request("POST", f"{self.pods}/{name}/binding", body)

    def running(self, name: str = "a", phase: str = "Running", *, ready: bool = True, **meta: Any) -> Item:
        """Create a pod on a node, with the status that its kubelet writes."""
        self.pod(name, **meta)
        assert self.bind(name).status == 201
        conditions = [{"type": "Ready", "status": str(ready)}]
        status = {"phase": phase, "conditions": conditions}
        return self.client.merge(f"{self.pods}/{name}/status", {"status": status}).body

    def evict(self, name: str = "a", *, dry: bool = False, **preconditions: str) -> RawResponse:
        """Post an eviction."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.name},
            "deleteOptions": {"preconditions": preconditions},
        }
        query = {"dryRun": "All"} if dry else {}
        return self.client.request("POST", f"{self.pods}/{name}/eviction", body, **query)

    def budget(self, name: str = "b", allowed: int | None = None, healthy: int = 2) -> None:
        """Create a disruption budget for pods with app=x. None: without a status of the controller."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
        self.client.make(self.budgets, {"metadata": {"name": name}, "spec": spec})
        if allowed is not None:
            status = {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "currentHealthy": healthy,
                "desiredHealthy": 1,
                "expectedPods": 2,
            }
            self.client.merge(f"{self.budgets}/{name}/status", {"status": status})

    def find(self, name: str = "a") -> RawResponse:
        """Read a pod."""
        return self.client.get(f"{self.pods}/{name}")
