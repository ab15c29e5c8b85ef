"""Owners of pods are looked up on an API server: up to the top owner, rarely, and without errors."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.owners import owner_lists
from tenure.kubernetes.owners.gangs import NO_GANG, Gang, Role
from tenure.kubernetes.owners.lookup import ApiOwnerLookup

from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fake_api_server.server import FakeApiServer

_JOBS = "/apis/batch/v1/namespaces/team/jobs"
_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets"


def create_owner(
    transport: Transport, collection: str, kind: str, name: str, spec: Any = None, **meta: Any
) -> OwnerReference:
    """Create an owner; return the reference to it."""
    version = collection.removeprefix("/apis/").partition("/namespaces/")[0]
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec or {}}
    uid = json.loads(transport.post(collection, body))["metadata"]["uid"]
    return OwnerReference(version, kind, name, uid, controller=True)


def pod_owned_by(by: OwnerReference) -> dict[str, Any]:
    reference = {"apiVersion": by.api_version, "kind": by.kind, "name": by.name, "uid": by.uid}
    return {"ownerReferences": [{**reference, "controller": True}]}


@pytest.fixture
def kinds(transport: Transport) -> Transport:
    define_kinds(transport)
    return transport


@pytest.fixture
def unauthorized_transport(api: FakeApiServer, transport: Transport) -> Iterator[Transport]:
    """A transport without read permission."""
    accounts = "/api/v1/namespaces/team/serviceaccounts"
    transport.post(accounts, {"metadata": {"name": "nobody"}})
    token = json.loads(transport.post(f"{accounts}/nobody/token", {"spec": {}}))["status"]["token"]
    with closing(Transport(api.kubeconfig(token))) as opened:
        yield opened


def test_top_owner_determines_pod_group_and_gang_size(kinds: Transport) -> None:
    jobs = [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 3}}}]
    top = create_owner(kinds, _SETS, "JobSet", "set", spec={"replicatedJobs": jobs})
    job = create_owner(kinds, _JOBS, "Job", "set-w-0", **pod_owned_by(top))
    found = ApiOwnerLookup(kinds).top("team", job)
    assert found is not None
    assert (found.metadata.name, found.metadata.uid) == ("set", top.uid)
    assert found.gang == Gang(None, (Role("w", 6),))


def test_a_kind_is_listed_once_and_later_owners_are_read_one_by_one(
    api: FakeApiServer, transport: Transport
) -> None:
    first, second = (create_owner(transport, _JOBS, "Job", name) for name in ("one", "two"))
    owners = ApiOwnerLookup(transport)
    owners.top("team", first), owners.top("team", second), owners.top("team", first)
    third = create_owner(transport, _JOBS, "Job", "three")
    api.calls.clear()
    found = owners.top("team", third)
    assert found is not None
    assert found.metadata.creation_timestamp is not None
    assert [call.path for call in api.calls] == [f"{_JOBS}/three"]


def test_lists_are_read_again_a_page_at_a_time(
    api: FakeApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_lists, "PAGE", 2)
    references = [create_owner(transport, _JOBS, "Job", f"job-{number}") for number in range(5)]
    seconds = 0.0
    owners = ApiOwnerLookup(transport, stopwatch=lambda: seconds)
    owners.begin()
    assert owners.wait() is None
    for reference in references:
        owners.top("team", reference)
    for reference in references[::2]:
        path = f"{_JOBS}/{reference.name}"
        transport.patch(path, {"metadata": {"annotations": {names.QUEUE: "b"}}}, MERGE_PATCH)
        transport.patch(path, {"status": {"active": 1}}, MERGE_PATCH)
    seconds += owner_lists.REFRESH_SECONDS
    api.calls.clear()
    assert [owners.begin() for _ in range(4)] == [
        *({references[0].uid}, {references[2].uid}, {references[4].uid}),
        set(),
    ]
    assert len(api.calls) == 3
    assert owners.wait() == owner_lists.REFRESH_SECONDS


def test_failed_reading_of_a_list_changes_nothing_and_is_repeated(
    api: FakeApiServer, transport: Transport
) -> None:
    reference = create_owner(transport, _JOBS, "Job", "one")
    seconds = 0.0
    owners = ApiOwnerLookup(transport, stopwatch=lambda: seconds)
    owners.top("team", reference)
    transport.patch(f"{_JOBS}/one", {"metadata": {"labels": {names.QUEUE: "b"}}}, MERGE_PATCH)
    seconds += owner_lists.REFRESH_SECONDS
    api.faults.refuse("GET", "/apis/batch/v1/jobs*", 500)
    assert owners.begin() == set()
    seconds += owner_lists.REFRESH_SECONDS
    assert owners.begin() == {reference.uid}


@pytest.mark.parametrize(
    "reference",
    [
        OwnerReference("batch/v1", "Job", "gone", "uid-gone", controller=True),
        OwnerReference("example.com/v1", "Nothing", "x", "uid-x", controller=True),
        OwnerReference("batch/v1", "Nothing", "x", "uid-x", controller=True),
    ],
    ids=["gone", "no such group", "no such kind"],
)
def test_missing_owner_is_known_by_its_name(transport: Transport, reference: OwnerReference) -> None:
    found = ApiOwnerLookup(transport).top("team", reference)
    assert found is not None
    assert (found.metadata.uid, found.metadata.name, found.gang) == (
        *(reference.uid, reference.name),
        NO_GANG,
    )


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("batch/v1/../../../api/v1", "x"),
        ("../api/v1", "x"),
        ("batch/v1?limit=1", "x"),
        ("batch/v1", "../../secrets/x"),
        ("batch/v1", "x?watch=true"),
        ("batch/v1", "x\ny"),
        ("", ""),
    ],
)
def test_invalid_version_or_name_is_not_requested(
    api: FakeApiServer, transport: Transport, version: str, name: str
) -> None:
    api.calls.clear()
    found = ApiOwnerLookup(transport).top(
        "team", OwnerReference(version, "Job", name, "uid-x", controller=True)
    )
    assert found is not None
    assert found.metadata.uid == "uid-x"
    assert api.calls == []


def test_recreated_object_is_not_mistaken_for_the_owner(transport: Transport) -> None:
    job = create_owner(transport, _JOBS, "Job", "job")
    before = OwnerReference(job.api_version, job.kind, job.name, "uid-before", controller=True)
    found = ApiOwnerLookup(transport).top("team", before)
    assert found is not None
    assert (found.metadata.uid, found.metadata.creation_timestamp) == ("uid-before", None)


def test_owner_in_another_namespace_is_ignored(transport: Transport) -> None:
    labels = {"kai.scheduler/queue": "theirs"}
    job, owners = create_owner(transport, _JOBS, "Job", "job", labels=labels), ApiOwnerLookup(transport)
    own, foreign = owners.top("team", job), owners.top("poor", job)
    assert own is not None
    assert foreign is not None
    assert own.metadata.labels == labels
    assert (foreign.metadata.namespace, foreign.metadata.labels) == ("poor", {})


def test_forbidden_owner_is_known_by_its_name(
    transport: Transport, unauthorized_transport: Transport
) -> None:
    job = create_owner(transport, _JOBS, "Job", "job")
    found = ApiOwnerLookup(unauthorized_transport, patience=0).top("team", job)
    assert found is not None
    assert (found.metadata.uid, found.metadata.creation_timestamp) == (job.uid, None)
    assert (found.is_known, found.is_retried, found.warnings) == (False, True, ())


GANG_OF_8: Final = {"kai.scheduler/batch-min-member": "8"}


class Stopwatch:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_late_permission_is_retried_until_it_exists(api: FakeApiServer, transport: Transport) -> None:
    job, stopwatch = create_owner(transport, _JOBS, "Job", "job", annotations=GANG_OF_8), Stopwatch()
    owners = ApiOwnerLookup(transport, stopwatch=stopwatch)
    api.faults.refuse("GET", "/apis/batch/v1*", 403, times=3)
    assert owners.top("team", job) is None
    stopwatch.seconds = 4
    calls = len(api.calls)
    assert owners.top("team", job) is None
    assert len(api.calls) == calls
    stopwatch.seconds = 59
    assert owners.top("team", job) is None
    stopwatch.seconds = 65
    found = owners.top("team", job)
    assert found is not None
    assert (found.gang, found.is_retried) == (NO_GANG, True)
    assert list(owners.refused_kinds()) == ["Job of batch/v1"]
    stopwatch.seconds = 300
    found = owners.top("team", job)
    assert found is not None
    assert (found.gang, found.is_retried) == (Gang(8), False)
    assert owners.refused_kinds() == {}


def test_field_that_is_no_number_is_a_warning_and_does_not_affect_other_owners(transport: Transport) -> None:
    key = "kai.scheduler/batch-min-member"
    senseless = create_owner(transport, _JOBS, "Job", "odd", annotations={key: "many"})
    other = create_owner(transport, _JOBS, "Job", "other")
    owners = ApiOwnerLookup(transport, patience=0)
    odd, sound = owners.top("team", senseless), owners.top("team", other)
    assert odd is not None
    assert sound is not None
    assert (odd.metadata.uid, odd.gang) == (senseless.uid, NO_GANG)
    assert odd.warnings == (f"$.metadata.annotations['{key}']: 'many' is not a number: it is ignored",)
    assert (sound.is_known, sound.warnings) == (True, ())


def test_failed_lookup_is_repeated(api: FakeApiServer, transport: Transport) -> None:
    job, owners = create_owner(transport, _JOBS, "Job", "job"), ApiOwnerLookup(transport)
    api.faults.refuse("GET", "/apis/batch/v1*", 503)
    assert owners.top("team", job) is None
    assert owners.top("team", job) is not None
