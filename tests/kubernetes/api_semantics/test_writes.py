"""Create, replace, patch and delete objects, with conflicts and preconditions."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace


@pytest.fixture
def lease(namespace: ClientNamespace) -> dict[str, Any]:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15}
    return namespace.client.make(namespace.leases, {"metadata": {"name": "l"}, "spec": spec})


def holder_of(lease: dict[str, Any], holder: str, **meta: str) -> dict[str, Any]:
    changed = {"spec": {**lease["spec"], "holderIdentity": holder}}
    return {**lease, **changed, "metadata": {**lease["metadata"], **meta}}


def test_name_is_unique(namespace: ClientNamespace) -> None:
    namespace.pod()
    body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    came = namespace.client.request("POST", namespace.pods, body)
    assert (came.status, came.body["reason"]) == (409, "AlreadyExists")


def test_create_in_a_missing_namespace_is_rejected(namespace: ClientNamespace) -> None:
    came = namespace.client.request(
        "POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "m"}}
    )
    assert (came.status, came.message) == (404, 'namespaces "nowhere" not found')


def test_new_pod_is_pending_despite_its_status(namespace: ClientNamespace) -> None:
    body = {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
        "status": {"phase": "Running"},
    }
    made = namespace.client.make(namespace.pods, body)
    assert made["status"]["phase"] == "Pending"
    assert (made["spec"]["schedulerName"], made["spec"]["priority"]) == ("default-scheduler", 0)


def test_pod_priority_is_that_of_its_class_and_an_unknown_class_is_rejected(
    namespace: ClientNamespace,
) -> None:
    name = f"class-of-{namespace.name}"
    namespace.client.make(
        "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 7}
    )
    assert namespace.pod(spec={"priorityClassName": name})["spec"]["priority"] == 7
    containers = [{"name": "main", "image": "none"}]
    body = {"metadata": {"name": "b"}, "spec": {"containers": containers, "priorityClassName": "missing"}}
    came = namespace.client.request("POST", namespace.pods, body)
    assert (came.status, "no PriorityClass with name missing" in came.message) == (403, True)


def test_lease_is_replaced_only_with_its_last_version(
    namespace: ClientNamespace, lease: dict[str, Any]
) -> None:
    path = f"{namespace.leases}/l"
    assert namespace.client.request("PUT", path, holder_of(lease, "b")).status == 200
    late = namespace.client.request("PUT", path, holder_of(lease, "c"))
    assert (late.status, "the object has been modified" in late.message) == (409, True)
    assert namespace.client.get(path).body["spec"]["holderIdentity"] == "b"


@pytest.mark.parametrize(
    ("meta", "status", "message"),
    [
        ({"uid": "another"}, 409, "Precondition failed: UID"),
        ({"resourceVersion": ""}, 422, "must be specified for an update"),
    ],
)
def test_lease_is_not_replaced_without_its_version(
    namespace: ClientNamespace, lease: dict[str, Any], meta: dict[str, str], status: int, message: str
) -> None:
    came = namespace.client.request("PUT", f"{namespace.leases}/l", holder_of(lease, "b", **meta))
    assert (came.status, message in came.message) == (status, True), came.body


def test_one_of_concurrent_lease_writes_succeeds(namespace: ClientNamespace, lease: dict[str, Any]) -> None:
    def write(i: int) -> int:
        return namespace.client.request("PUT", f"{namespace.leases}/l", holder_of(lease, f"h{i}")).status

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(write, range(8))) == [200] + [409] * 7


def test_write_without_change_has_no_new_version(namespace: ClientNamespace, lease: dict[str, Any]) -> None:
    came = namespace.client.request("PUT", f"{namespace.leases}/l", lease)
    assert (came.status, came.version) == (200, lease["metadata"]["resourceVersion"])


def test_config_map_is_replaced_without_or_with_its_last_version(namespace: ClientNamespace) -> None:
    made = namespace.client.make(namespace.maps, {"metadata": {"name": "m"}, "binaryData": {"k": "eA=="}})
    blind = {"metadata": {"name": "m"}, "binaryData": {"k": "eQ=="}}
    path = f"{namespace.maps}/m"
    assert namespace.client.request("PUT", path, blind).status == 200
    late = namespace.client.request("PUT", path, {**made, "binaryData": {}})
    assert late.status == 409
    assert namespace.client.get(path).body["binaryData"] == {"k": "eQ=="}


@pytest.mark.parametrize(
    ("meta", "status", "message"),
    [
        ({}, 200, ""),
        ({"uid": "another"}, 422, "field is immutable"),
        ({"resourceVersion": "1"}, 409, "the object has been modified"),
    ],
)
@pytest.mark.parametrize("below", ["", "/status"])
def test_merge_patch_honors_uid_and_version_preconditions(
    namespace: ClientNamespace, below: str, meta: dict[str, str], status: int, message: str
) -> None:
    namespace.running()
    change = {"status": {"phase": "Failed"}} if below else {}
    body = {"metadata": {"labels": {"a": "b"}, **meta}, **change}
    came = namespace.client.merge(f"{namespace.pods}/a{below}", body)
    assert (came.status, message in came.message) == (status, True), came.body


def test_merge_patch_adds_replaces_and_removes(namespace: ClientNamespace) -> None:
    namespace.pod(labels={"stays": "1", "changes": "1", "goes": "1"})
    came = namespace.client.merge(
        f"{namespace.pods}/a", {"metadata": {"labels": {"changes": "2", "goes": None, "comes": "1"}}}
    )
    assert came.body["metadata"]["labels"] == {"stays": "1", "changes": "2", "comes": "1"}


def test_patch_does_not_bind_a_pod(namespace: ClientNamespace) -> None:
    namespace.pod()
    came = namespace.client.merge(f"{namespace.pods}/a", {"spec": {"nodeName": "n1"}})
    assert (came.status, "pod updates may not change" in came.message) == (422, True)


@pytest.mark.parametrize(
    ("preconditions", "status"), [({"uid": "another"}, 409), ({"resourceVersion": "1"}, 409), ({}, 200)]
)
def test_deletion_honors_uid_and_version_preconditions(
    namespace: ClientNamespace, preconditions: dict[str, str], status: int
) -> None:
    namespace.running()
    came = namespace.client.request("DELETE", f"{namespace.pods}/a", {"preconditions": preconditions})
    assert came.status == status
    assert ("deletionTimestamp" in namespace.find().body["metadata"]) == (status == 200)


def test_repeated_deletion_shortens_and_never_extends_the_grace_period(namespace: ClientNamespace) -> None:
    namespace.running()
    path = f"{namespace.pods}/a"
    ends = namespace.client.request("DELETE", path).body["metadata"]
    again = namespace.client.request("DELETE", path, {"gracePeriodSeconds": 600}).body["metadata"]
    assert again["deletionTimestamp"] == ends["deletionTimestamp"]
    namespace.client.request("DELETE", path, {"gracePeriodSeconds": 0})
    assert namespace.find().status == 404
    assert namespace.client.request("DELETE", path).status == 404


def test_event_name_is_unique(namespace: ClientNamespace) -> None:
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace.name}/events"
    body = {
        "metadata": {"name": "e"},
        "eventTime": "2027-01-01T00:00:00.000000Z",
        "reportingController": "example.com/test",
        "reportingInstance": "i",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": namespace.name, "name": "a"},
    }
    namespace.client.make(events, body)
    assert namespace.client.request("POST", events, body).status == 409
    series = {"count": 2, "lastObservedTime": "2027-01-01T00:00:01.000000Z"}
    assert namespace.client.merge(f"{events}/e", {"series": series}).body["series"]["count"] == 2
