"""Pods of a tenant that each name another owner: few calls of the API server, and none waits for them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.owners.gangs import OTHERS, Role
from tenure.kubernetes.owners.lookup import ApiOwnerLookup

from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server
from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, pod, queue
from tests.kubernetes.owners.test_owners import create_owner, pod_owned_by

_PODS: Final = 200
_GANG: Final = {"kai.scheduler/batch-min-member": "3"}
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


def _absent(transport: Transport, number: int) -> dict[str, Any]:
    return pod_owned_by(OwnerReference("batch/v1", "Job", f"j{number}", f"u{number}"))


def _of_unknown_version(transport: Transport, number: int) -> dict[str, Any]:
    return pod_owned_by(OwnerReference(f"v{number}.example.com/v1", "Job", f"j{number}", f"u{number}"))


def _existing(transport: Transport, number: int) -> dict[str, Any]:
    return pod_owned_by(create_owner(transport, "/apis/batch/v1/namespaces/evil/jobs", "Job", f"j{number}"))


@pytest.mark.parametrize("owners", [_absent, _of_unknown_version, _existing])
def test_owners_of_a_namespace_are_looked_up_in_few_calls(
    owners: Callable[[Transport, int], dict[str, Any]], api: FakeApiServer, transport: Transport
) -> None:
    world = CachedCluster()
    world.put("kai_queues", queue("q"))
    lookup = ApiOwnerLookup(transport)
    earlier = create_owner(transport, "/apis/batch/v1/namespaces/team/jobs", "Job", "earlier")
    lookup.top("team", earlier)
    for number in range(_PODS):
        meta = {"namespace": "evil", **owners(transport, number)}
        world.put("pods", pod(f"evil-{number:03}", meta=meta))
    honest = create_owner(
        transport, "/apis/batch/v1/namespaces/team/jobs", "Job", "honest", annotations=_GANG
    )
    world.put("pods", pod("honest", meta={"namespace": "team", **pod_owned_by(honest)}))
    builder = world.builder(owners=lookup)
    api.calls.clear()
    rows = {row.name: row for row in builder.snapshot(NOW).pod_groups}
    assert len(api.calls) <= _MAX_CALLS
    assert rows["honest"].min_member == 3


def test_pods_get_their_pod_groups_in_later_observations(api: FakeApiServer, transport: Transport) -> None:
    world = CachedCluster()
    world.put("kai_queues", queue("q"))
    for number in range(40):
        meta = {"namespace": "evil", **_of_unknown_version(transport, number)}
        world.put("pods", pod(f"evil-{number:03}", meta=meta))
    builder = world.builder(owners=ApiOwnerLookup(transport))
    counts = []
    for _ in range(3):
        api.calls.clear()
        counts.append((len(builder.snapshot(NOW).pod_groups), len(api.calls)))
    assert counts == [(16, 16), (32, 16), (40, 8)]


def test_pod_as_owner_is_not_read(api: FakeApiServer, transport: Transport) -> None:
    """Drivers own their executors, so pods can be owners. All pods are observed already."""
    world = CachedCluster()
    world.put("pods", pod("driver", meta={"namespace": "evil", "labels": {names.QUEUE: "q", "a": "b"}}))
    lookup = ApiOwnerLookup(transport, find_pod=world.mirrors.pods.find)
    api.calls.clear()
    found = lookup.top("evil", OwnerReference("v1", "Pod", "driver", "uid-driver"))
    assert found is not None
    assert found.metadata.labels == {names.QUEUE: "q"}
    for namespace, number in (("team", "driver"), ("evil", "gone")):
        other = lookup.top(namespace, OwnerReference("v1", "Pod", "driver", f"uid-{number}"))
        assert other is not None
        assert not other.is_known
    assert api.calls == []


@pytest.mark.parametrize("namespace", ["evil", "team"])
def test_large_owners_cost_little_memory(transport: Transport, namespace: str) -> None:
    define_kinds(transport)
    large = {f"note-{number}": "x" * 1_000 for number in range(200)}
    spec = {"replicatedJobs": [{"replicas": 2}] * 2_000, "preemptibility": {"deep": [1] * 10_000}}
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets"
    labels = {names.PREEMPTIBILITY: "preemptible"}
    notes = {**large, names.QUEUE: "q" * 100_000}
    owner = create_owner(transport, path, "JobSet", "large", spec=spec, annotations=notes, labels=labels)
    lookup = ApiOwnerLookup(transport)
    found = lookup.top(namespace, owner)
    assert found is not None
    assert found.gang.roles == (Role(OTHERS, 4_000),)
    assert found.metadata.labels == labels
    assert len(msgspec.json.encode(found.chain)) < 5_000
