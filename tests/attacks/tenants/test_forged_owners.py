"""Owner references are free text of tenants: they change nothing for the pods of other namespaces."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.owners.lookup import ApiOwnerLookup

from tests.kubernetes.fake_api_server.server import run_fake_api_server
from tests.kubernetes.observe.cached_cluster import CachedCluster, member, pod, pod_group

_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_KEY: Final = "kai.scheduler/batch-min-member"


class Site(NamedTuple):
    """An API server, as its administrator and as an adapter that may read jobs and nothing below them."""

    admin: Transport
    adapter: Transport

    def job(self, namespace: str, name: str, gang: str = "") -> OwnerReference:
        """Create a job; return the reference to it."""
        meta = {"name": name, "annotations": {_KEY: gang} if gang else {}}
        body = {"metadata": meta, "spec": {}}
        content = self.admin.post(f"/apis/batch/v1/namespaces/{namespace}/jobs", body)
        return OwnerReference(
            "batch/v1", "Job", name, json.loads(content)["metadata"]["uid"], controller=True
        )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as admin:
        for namespace in ("team", "evil"):
            admin.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        accounts = "/api/v1/namespaces/team/serviceaccounts"
        admin.post(accounts, {"metadata": {"name": "adapter"}})
        rule = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list"]}
        admin.post(f"{_RBAC}/clusterroles", {"metadata": {"name": "adapter"}, "rules": [rule]})
        subject = {"kind": "ServiceAccount", "name": "adapter", "namespace": "team"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "adapter"}
        binding = {"metadata": {"name": "adapter"}, "roleRef": role, "subjects": [subject]}
        admin.post(f"{_RBAC}/clusterrolebindings", binding)
        token = json.loads(admin.post(f"{accounts}/adapter/token", {"spec": {}}))["status"]["token"]
        with closing(Transport(api.kubeconfig(token))) as adapter:
            yield Site(admin, adapter)


def lookup(site: Site) -> ApiOwnerLookup:
    """A lookup that has listed the jobs: later ones are read one by one."""
    owners = ApiOwnerLookup(site.adapter)
    owners.top("team", site.job("team", "earlier"))
    return owners


def is_gang(owners: ApiOwnerLookup, gang: OwnerReference) -> bool:
    found = owners.top("team", gang)
    return found is not None and (found.gang.minimum, found.warnings) == (8, ())


FORGED: Final = {
    "uid of another namespace": {},
    "and a kind that does not exist": {"kind": "Nothing"},
    "and a version that does not exist": {"api_version": "example.com/v1"},
    "and a name that is no name": {"name": "x y"},
    "and the name of an unreadable object": {"name": "odd"},
}


@pytest.mark.parametrize("forged", FORGED)
def test_reference_from_another_namespace_does_not_hide_an_owner(site: Site, forged: str) -> None:
    """Otherwise the owner would count as gone, and its gang would be started pod by pod."""
    owners = lookup(site)
    site.job("evil", "odd", "many")
    gang = site.job("team", "gang", "8")
    fields = {"api_version": gang.api_version, "kind": gang.kind, "name": gang.name, **FORGED[forged]}
    owners.top("evil", OwnerReference(**fields, uid=gang.uid, controller=True))
    assert is_gang(owners, gang)


@pytest.mark.parametrize("name", ["x/v1a", "x/v1", "x/status", "x/../y", "../../../secrets/x"])
def test_name_of_an_owner_makes_no_kind_forbidden(site: Site, name: str) -> None:
    """A subresource is forbidden. Its kind must not count as forbidden, or all its gangs are unknown."""
    owners = lookup(site)
    gang = site.job("team", "gang", "8")
    forged = OwnerReference("batch/v1", "Job", name, "uid-forged", controller=True)
    found = owners.top("evil", forged)
    assert found is not None
    assert (found.metadata.uid, found.warnings) == ("uid-forged", ())
    assert is_gang(owners, gang)


def owned(uid: str, namespace: str, **labels: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": uid, "controller": True}
    return {"namespace": namespace, "ownerReferences": [owner], "labels": labels}


_REPLICA: Final = {"leaderworkerset.sigs.k8s.io/group-key": "key"}
_VOLCANO: Final = {"annotations": {"scheduling.k8s.io/group-name": "g"}}
JOINING: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "uid of its owner": (owned("u", "team"), owned("u", "evil")),
    "key of its replica": (owned("u", "team", **_REPLICA), owned("u", "evil", **_REPLICA)),
    "name of its pod group": (member("g"), {**member("g"), "namespace": "evil"}),
    "name of its pod group in Volcano": (_VOLCANO, {**_VOLCANO, "namespace": "evil"}),
    "path of its pod group": (member("g"), {**member("../team/g"), "namespace": "evil"}),
    "uid of its pod group": (member("g"), {**member("uid-g"), "namespace": "evil"}),
}


@pytest.mark.parametrize("way", JOINING)
def test_pod_does_not_join_a_pod_group_of_another_namespace(way: str) -> None:
    """A stranger would make a gang look complete, or be a reason to evict it."""
    mine, theirs = JOINING[way]
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", minMember=2))
    world.put("volcano_pod_groups", pod_group("g", minMember=2))
    world.put("pods", pod("mine", meta=mine))
    world.put("pods", pod("stranger", meta=theirs))
    snapshot = world.snapshot()
    group_of = {row.name: row.pod_group for row in snapshot.pods}
    assert group_of["mine"] != group_of.get("stranger", "")
    namespaces = {row.uid: row.namespace for row in snapshot.pod_groups}
    assert namespaces[group_of["mine"]] == "team"
    assert namespaces.get(group_of.get("stranger", ""), "evil") == "evil"
