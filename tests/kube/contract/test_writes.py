"""Creating, replacing, changing and deleting objects: who is first, and who came too late."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.kube.contract.asking import Place


@pytest.fixture
def lease(place: Place) -> dict[str, Any]:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15}
    return place.asker.make(place.leases, {"metadata": {"name": "l"}, "spec": spec})


def held_by(lease: dict[str, Any], holder: str, **meta: str) -> dict[str, Any]:
    changed = {"spec": {**lease["spec"], "holderIdentity": holder}}
    return {**lease, **changed, "metadata": {**lease["metadata"], **meta}}


def test_a_name_is_given_once(place: Place) -> None:
    place.pod()
    body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    came = place.asker.ask("POST", place.pods, body)
    assert (came.status, came.body["reason"]) == (409, "AlreadyExists")


def test_nothing_is_created_in_a_namespace_that_is_not_there(place: Place) -> None:
    came = place.asker.ask("POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "m"}})
    assert (came.status, came.said) == (404, 'namespaces "nowhere" not found')


def test_a_new_pod_waits_whatever_it_says(place: Place) -> None:
    body = {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
        "status": {"phase": "Running"},
    }
    made = place.asker.make(place.pods, body)
    assert made["status"]["phase"] == "Pending"
    assert (made["spec"]["schedulerName"], made["spec"]["priority"]) == ("default-scheduler", 0)


def test_a_pod_has_the_number_of_its_priority_class_and_none_without_one(place: Place) -> None:
    name = f"class-of-{place.name}"
    place.asker.make("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 7})
    assert place.pod(spec={"priorityClassName": name})["spec"]["priority"] == 7
    containers = [{"name": "main", "image": "none"}]
    body = {"metadata": {"name": "b"}, "spec": {"containers": containers, "priorityClassName": "missing"}}
    came = place.asker.ask("POST", place.pods, body)
    assert (came.status, "no PriorityClass with name missing" in came.said) == (403, True)


def test_a_lease_is_written_by_whoever_read_its_last_version(place: Place, lease: dict[str, Any]) -> None:
    path = f"{place.leases}/l"
    assert place.asker.ask("PUT", path, held_by(lease, "b")).status == 200
    late = place.asker.ask("PUT", path, held_by(lease, "c"))
    assert (late.status, "the object has been modified" in late.said) == (409, True)
    assert place.asker.get(path).body["spec"]["holderIdentity"] == "b"


@pytest.mark.parametrize(
    ("meta", "status", "said"),
    [
        ({"uid": "another"}, 409, "Precondition failed: UID"),
        ({"resourceVersion": ""}, 422, "must be specified for an update"),
    ],
)
def test_a_lease_is_not_written_by_whoever_read_none(
    place: Place, lease: dict[str, Any], meta: dict[str, str], status: int, said: str
) -> None:
    came = place.asker.ask("PUT", f"{place.leases}/l", held_by(lease, "b", **meta))
    assert (came.status, said in came.said) == (status, True), came.body


def test_of_writes_of_a_lease_at_once_one_counts(place: Place, lease: dict[str, Any]) -> None:
    def write(i: int) -> int:
        return place.asker.ask("PUT", f"{place.leases}/l", held_by(lease, f"h{i}")).status

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(write, range(8))) == [200] + [409] * 7


def test_a_write_that_changes_nothing_is_no_new_version(place: Place, lease: dict[str, Any]) -> None:
    came = place.asker.ask("PUT", f"{place.leases}/l", lease)
    assert (came.status, came.version) == (200, lease["metadata"]["resourceVersion"])


def test_a_config_map_is_replaced_blindly_or_by_its_last_version(place: Place) -> None:
    made = place.asker.make(place.maps, {"metadata": {"name": "m"}, "binaryData": {"k": "eA=="}})
    blind = {"metadata": {"name": "m"}, "binaryData": {"k": "eQ=="}}
    path = f"{place.maps}/m"
    assert place.asker.ask("PUT", path, blind).status == 200
    late = place.asker.ask("PUT", path, {**made, "binaryData": {}})
    assert late.status == 409
    assert place.asker.get(path).body["binaryData"] == {"k": "eQ=="}


@pytest.mark.parametrize(
    ("meta", "status", "said"),
    [
        ({}, 200, ""),
        ({"uid": "another"}, 422, "field is immutable"),
        ({"resourceVersion": "1"}, 409, "the object has been modified"),
    ],
)
@pytest.mark.parametrize("below", ["", "/status"])
def test_a_merge_patch_is_fenced_by_uid_and_version(
    place: Place, below: str, meta: dict[str, str], status: int, said: str
) -> None:
    place.running()
    change = {"status": {"phase": "Failed"}} if below else {}
    body = {"metadata": {"labels": {"a": "b"}, **meta}, **change}
    came = place.asker.merge(f"{place.pods}/a{below}", body)
    assert (came.status, said in came.said) == (status, True), came.body


def test_a_merge_patch_adds_replaces_and_takes_away(place: Place) -> None:
    place.pod(labels={"stays": "1", "changes": "1", "goes": "1"})
    came = place.asker.merge(
        f"{place.pods}/a", {"metadata": {"labels": {"changes": "2", "goes": None, "comes": "1"}}}
    )
    assert came.body["metadata"]["labels"] == {"stays": "1", "changes": "2", "comes": "1"}


def test_a_patch_binds_nothing(place: Place) -> None:
    place.pod()
    came = place.asker.merge(f"{place.pods}/a", {"spec": {"nodeName": "n1"}})
    assert (came.status, "pod updates may not change" in came.said) == (422, True)


@pytest.mark.parametrize(
    ("preconditions", "status"), [({"uid": "another"}, 409), ({"resourceVersion": "1"}, 409), ({}, 200)]
)
def test_a_deletion_is_fenced_by_uid_and_version(
    place: Place, preconditions: dict[str, str], status: int
) -> None:
    place.running()
    came = place.asker.ask("DELETE", f"{place.pods}/a", {"preconditions": preconditions})
    assert came.status == status
    assert ("deletionTimestamp" in place.find().body["metadata"]) == (status == 200)


def test_a_deletion_is_shortened_and_never_put_off(place: Place) -> None:
    place.running()
    path = f"{place.pods}/a"
    ends = place.asker.ask("DELETE", path).body["metadata"]
    again = place.asker.ask("DELETE", path, {"gracePeriodSeconds": 600}).body["metadata"]
    assert again["deletionTimestamp"] == ends["deletionTimestamp"]
    place.asker.ask("DELETE", path, {"gracePeriodSeconds": 0})
    assert place.find().status == 404
    assert place.asker.ask("DELETE", path).status == 404


def test_an_event_of_a_name_is_told_once(place: Place) -> None:
    events = f"/apis/events.k8s.io/v1/namespaces/{place.name}/events"
    body = {
        "metadata": {"name": "e"},
        "eventTime": "2027-01-01T00:00:00.000000Z",
        "reportingController": "example.com/test",
        "reportingInstance": "i",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": place.name, "name": "a"},
    }
    place.asker.make(events, body)
    assert place.asker.ask("POST", events, body).status == 409
    series = {"count": 2, "lastObservedTime": "2027-01-01T00:00:01.000000Z"}
    assert place.asker.merge(f"{events}/e", {"series": series}).body["series"]["count"] == 2
