"""Owners of a tenant that are many, huge, senseless, gone or in a cycle harm the pods of that tenant only."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.owners.lookup import ApiOwnerLookup

from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server
from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, pod
from tests.kubernetes.owners.owner_chains import groups_of

_JOBS: Final = "/apis/batch/v1/namespaces/{}/jobs"
_KEY: Final = "kai.scheduler/batch-min-member"
_MAX_CALLS: Final = 20
"""Calls of the API server for the owners of a namespace in one observation."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[FakeApiServer]:
    with run_fake_api_server(tmp_path) as server:
        yield server


@pytest.fixture
def transport(api: FakeApiServer) -> Iterator[Transport]:
    with closing(Transport(api.kubeconfig())) as opened:
        for namespace in ("team", "evil"):
            opened.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        yield opened


def reference(name: str, uid: str, kind: str = "Job", version: str = "batch/v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def make(transport: Transport, namespace: str, name: str, spec: Any = None, **meta: Any) -> dict[str, Any]:
    body = {"metadata": {"name": name, **meta}, "spec": spec or {}}
    uid = json.loads(transport.post(_JOBS.format(namespace), body))["metadata"]["uid"]
    return reference(name, uid)


def absent(transport: Transport, number: int) -> dict[str, Any]:
    return reference(f"j{number}", f"u{number}")


def of_another_kind(transport: Transport, number: int) -> dict[str, Any]:
    return reference("x", f"u{number}", f"Kind{number}", "batch/v1")


def of_another_group(transport: Transport, number: int) -> dict[str, Any]:
    return reference("x", f"u{number}", "Kind", f"g{number}.example.com/v1")


@pytest.mark.parametrize("owner", [absent, of_another_kind, of_another_group])
def test_two_thousand_owners_are_looked_up_in_few_calls(
    api: FakeApiServer, transport: Transport, owner: Callable[[Transport, int], dict[str, Any]]
) -> None:
    world = CachedCluster()
    for number in range(2_000):
        meta = {"namespace": "evil", "ownerReferences": [owner(transport, number)]}
        world.put("pods", pod(f"evil-{number}", meta=meta))
    gang = make(transport, "team", "gang", annotations={_KEY: "3"})
    world.put("pods", pod("honest", meta={"ownerReferences": [gang]}))
    builder = world.builder(owners=ApiOwnerLookup(transport))
    for _ in range(2):
        api.calls.clear()
        snapshot = builder.snapshot(NOW)
        assert len(api.calls) <= _MAX_CALLS
        assert groups_of(snapshot)["honest"] == "3"


def test_huge_and_senseless_owners_do_not_hide_others(transport: Transport) -> None:
    """What is read of an owner is small, and fields of another form count as absent."""
    world, lookup = CachedCluster(), ApiOwnerLookup(transport)
    deep: Any = 1
    for _ in range(60):
        deep = [{"template": deep}]
    many = {"containers": [{"name": f"c{number}", "args": ["x" * 100]} for number in range(5_000)]}
    specs: list[Any] = [
        {"parallelism": 2**70, "completions": 2**70, "completionMode": "Indexed", "template": many},
        {"completionMode": ["Indexed"], "template": deep, "parallelism": {"a": 1}},
        {"template": {"spec": [1, 2]}, "completionMode": "Indexed"},
    ]
    for number, spec in enumerate(specs):
        meta = {"annotations": {_KEY: "9" * 5_000}}
        owner = make(transport, "evil", f"odd-{number}", spec, **meta)
        world.put("pods", pod(f"evil-{number}", meta={"namespace": "evil", "ownerReferences": [owner]}))
    gang = make(transport, "team", "gang", annotations={_KEY: "3"})
    world.put("pods", pod("honest", meta={"ownerReferences": [gang]}))
    builder = world.builder(owners=lookup)
    found = groups_of(builder.snapshot(NOW))
    assert found == {"honest": "3", **{f"evil-{number}": "1" for number in range(3)}}
    assert all(len(warned.text) < 500 for warned in builder.warnings.active)


def test_owners_in_a_cycle_end_where_they_began(api: FakeApiServer, transport: Transport) -> None:
    first = make(transport, "evil", "first")
    second = make(transport, "evil", "second", ownerReferences=[first])
    above = {"metadata": {"ownerReferences": [second]}}
    transport.patch(f"{_JOBS.format('evil')}/first", above, MERGE_PATCH)
    own = make(transport, "evil", "own")
    transport.patch(f"{_JOBS.format('evil')}/own", {"metadata": {"ownerReferences": [own]}}, MERGE_PATCH)
    world = CachedCluster()
    for name, owner in {"a": first, "b": first, "c": own}.items():
        world.put("pods", pod(name, meta={"namespace": "evil", "ownerReferences": [owner]}))
    api.calls.clear()
    snapshot = world.builder(owners=ApiOwnerLookup(transport)).snapshot(NOW)
    assert groups_of(snapshot) == {"a b": "1", "c": "1"}
    assert len(api.calls) <= 3


def test_pods_that_own_each_other_are_not_read(api: FakeApiServer, transport: Transport) -> None:
    """Pods are observed already. Reading them as owners would list all pods of the cluster."""
    world = CachedCluster()
    for name, above in {"a": "b", "b": "a", "c": "gone"}.items():
        owner = reference(above, f"uid-{above}", "Pod", "v1")
        world.put("pods", pod(name, meta={"namespace": "evil", "ownerReferences": [owner]}))
    lookup = ApiOwnerLookup(transport, find_pod=world.mirrors.pods.find)
    api.calls.clear()
    assert set(groups_of(world.builder(owners=lookup).snapshot(NOW)).values()) == {"1"}
    assert api.calls == []


def test_owner_that_vanishes_leaves_its_pods_in_their_pod_group(transport: Transport) -> None:
    world, lookup = CachedCluster(), ApiOwnerLookup(transport)
    gang = make(transport, "team", "gang", annotations={_KEY: "2"})
    for name in "ab":
        world.put("pods", pod(name, meta={"ownerReferences": [gang]}))
    builder = world.builder(owners=lookup)
    before = builder.snapshot(NOW).pod_groups[0]
    transport.delete(f"{_JOBS.format('team')}/gang", {})
    world.put("pods", pod("c", meta={"ownerReferences": [gang]}))
    assert builder.snapshot(NOW).pod_groups[0].uid == before.uid
    again = world.builder(owners=ApiOwnerLookup(transport)).snapshot(NOW)
    assert [row.uid for row in again.pod_groups] == [before.uid]


def test_kind_that_may_not_be_read_is_one_warning(api: FakeApiServer, transport: Transport) -> None:
    world = CachedCluster()
    for number in range(50):
        owner = reference(f"j{number}", f"u{number}")
        world.put("pods", pod(f"p{number}", meta={"ownerReferences": [owner]}))
    api.faults.refuse("GET", "/apis/batch/v1*", 403)
    builder = world.builder(owners=ApiOwnerLookup(transport, patience=0))
    assert len(builder.snapshot(NOW).pod_groups) == 0  # their queues are unknown
    assert len(builder.set_aside.objects) == 50
    assert all("its queue is unknown" in each.reason.text for each in builder.set_aside.objects.values())
    [warned] = builder.warnings.take_new()
    assert warned.subject == "kind Job of batch/v1"
    assert "gangs, queues and preemptibility of its pods are unknown" in warned.text
