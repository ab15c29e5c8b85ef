"""Access control: roles of service accounts, and requested tokens."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace, RawClient

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/binding", "pods/eviction"], "verbs": ["create"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["tenure"],
        "verbs": ["get", "update"],
    },
]
"""Some rules of the adapter's role."""


@pytest.fixture
def adapter(namespace: ClientNamespace) -> Iterator[RawClient]:
    """A client with the token of a service account that has this role."""
    admin, name = namespace.client, f"adapter-of-{namespace.name}"
    admin.make(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": _RULES})
    account = {"kind": "ServiceAccount", "namespace": namespace.name, "name": "adapter"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "subjects": [account], "roleRef": role}
    admin.make(f"{_RBAC}/clusterrolebindings", binding)
    accounts = f"/api/v1/namespaces/{namespace.name}/serviceaccounts"
    admin.make(accounts, {"metadata": {"name": "adapter"}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = admin.make(f"{accounts}/adapter/token", asked)["status"]["token"]
    made = RawClient(admin.url, token)
    yield made
    made.close()


ALLOWED = {
    "list all pods": ("GET", "/api/v1/pods"),
    "read a pod": ("GET", "{pods}/a"),
    "bind": ("POST", "{pods}/waits/binding"),
    "evict": ("POST", "{pods}/a/eviction"),
    "discover": ("GET", "/apis/policy/v1"),
}
FORBIDDEN = {
    "list secrets": ("GET", "/api/v1/secrets"),
    "delete a pod": ("DELETE", "{pods}/a"),
    "change a pod": ("PATCH", "{pods}/a"),
    "read a lease of another name": ("GET", "{leases}/other"),
    "create a lease": ("POST", "{leases}"),
    "read nodes": ("GET", "/api/v1/nodes"),
}


def _body(place: ClientNamespace, path: str) -> object:
    if path.endswith("/binding"):
        target = {"kind": "Node", "name": "n1"}
        return {"metadata": {"name": "waits", "namespace": place.name}, "target": target}
    if path.endswith("/eviction"):
        meta = {"name": "a", "namespace": place.name}
        return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    return None if path.endswith("/a") else {"metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("method", "path", "is_allowed"),
    [
        *(pytest.param(*what, True, id=name) for name, what in ALLOWED.items()),
        *(pytest.param(*what, False, id=name) for name, what in FORBIDDEN.items()),
    ],
)
def test_role_permits_exactly_its_rules(
    namespace: ClientNamespace, adapter: RawClient, method: str, path: str, is_allowed: bool
) -> None:
    namespace.running()
    namespace.pod("waits")
    where = path.format(pods=namespace.pods, leases=namespace.leases)
    body = _body(namespace, where) if method in ("POST", "DELETE") else {} if method == "PATCH" else None
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    came = adapter.request(method, where, body, media)
    assert (came.status < 300) == is_allowed, came.body
    assert is_allowed or (came.status, came.body["reason"]) == (403, "Forbidden")


def test_role_for_one_name_excludes_other_names(namespace: ClientNamespace, adapter: RawClient) -> None:
    for name in ("tenure", "other"):
        namespace.client.make(namespace.leases, {"metadata": {"name": name}, "spec": {}})
    assert adapter.get(f"{namespace.leases}/tenure").status == 200
    message = adapter.get(f"{namespace.leases}/other").message
    assert 'cannot get resource "leases" in API group "coordination.k8s.io" in the namespace' in message


def test_unknown_token_is_rejected(namespace: ClientNamespace) -> None:
    nobody = RawClient(namespace.client.url, "made-up")
    came = nobody.get("/api/v1/pods")
    nobody.close()
    assert (came.status, came.message) == (401, "Unauthorized")
