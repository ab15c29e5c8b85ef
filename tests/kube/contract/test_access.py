"""Who may do what: roles of service accounts, and tokens that are asked for."""

from collections.abc import Iterator

import pytest

from tests.kube.contract.asking import Asker, Place

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
"""A part of what an adapter may do."""


@pytest.fixture
def adapter(place: Place) -> Iterator[Asker]:
    """One who asks with the token of a service account that has a role."""
    admin, name = place.asker, f"adapter-of-{place.name}"
    admin.make(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": _RULES})
    account = {"kind": "ServiceAccount", "namespace": place.name, "name": "adapter"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "subjects": [account], "roleRef": role}
    admin.make(f"{_RBAC}/clusterrolebindings", binding)
    accounts = f"/api/v1/namespaces/{place.name}/serviceaccounts"
    admin.make(accounts, {"metadata": {"name": "adapter"}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = admin.make(f"{accounts}/adapter/token", asked)["status"]["token"]
    made = Asker(admin.url, token)
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


def _body(place: Place, path: str) -> object:
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
def test_a_role_lets_its_owner_do_what_it_says(
    place: Place, adapter: Asker, method: str, path: str, is_allowed: bool
) -> None:
    place.running()
    place.pod("waits")
    where = path.format(pods=place.pods, leases=place.leases)
    body = _body(place, where) if method in ("POST", "DELETE") else {} if method == "PATCH" else None
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    came = adapter.ask(method, where, body, media)
    assert (came.status < 300) == is_allowed, came.body
    assert is_allowed or (came.status, came.body["reason"]) == (403, "Forbidden")


def test_a_role_for_one_name_is_for_no_other(place: Place, adapter: Asker) -> None:
    for name in ("tenure", "other"):
        place.asker.make(place.leases, {"metadata": {"name": name}, "spec": {}})
    assert adapter.get(f"{place.leases}/tenure").status == 200
    said = adapter.get(f"{place.leases}/other").said
    assert 'cannot get resource "leases" in API group "coordination.k8s.io" in the namespace' in said


def test_a_token_that_nobody_gave_is_worth_nothing(place: Place) -> None:
    nobody = Asker(place.asker.url, "made-up")
    came = nobody.get("/api/v1/pods")
    nobody.close()
    assert (came.status, came.said) == (401, "Unauthorized")
