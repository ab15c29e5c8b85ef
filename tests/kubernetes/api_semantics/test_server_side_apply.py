"""Server-side apply: fields of one manager beside fields of others."""

from typing import Any

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace, RawResponse


def config(data: dict[str, str], **meta: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **meta}, "data": data}


def apply(place: ClientNamespace, manager: str, data: dict[str, str], **meta: str) -> RawResponse:
    return place.client.apply(f"{place.maps}/m", manager, config(data, **meta))


def test_missing_object_is_created(namespace: ClientNamespace) -> None:
    came = apply(namespace, "one", {"k": "1"})
    assert (came.status, came.body["data"]) == (201, {"k": "1"})


def test_field_of_another_manager_is_a_conflict(namespace: ClientNamespace) -> None:
    apply(namespace, "one", {"k": "1"})
    came = apply(namespace, "two", {"k": "2"})
    assert (came.status, 'conflict with "one": .data.k' in came.message) == (409, True)
    assert came.causes == ["FieldManagerConflict"]


def test_field_written_by_update_is_a_conflict(namespace: ClientNamespace) -> None:
    namespace.client.request("POST", namespace.maps, config({"k": "1"}), fieldManager="one")
    came = apply(namespace, "two", {"k": "2"})
    assert (came.status, 'conflict with "one" using v1: .data.k' in came.message) == (409, True)


def test_equal_value_of_two_managers_is_shared_until_the_last_drops_it(namespace: ClientNamespace) -> None:
    apply(namespace, "one", {"k": "1"})
    assert apply(namespace, "two", {"k": "1"}).status == 200
    assert apply(namespace, "one", {}).body["data"] == {"k": "1"}
    assert "data" not in apply(namespace, "two", {}).body


def test_force_transfers_only_the_applied_fields(namespace: ClientNamespace) -> None:
    apply(namespace, "one", {"k": "1", "other": "1"})
    taken = namespace.client.apply(f"{namespace.maps}/m", "two", config({"k": "2"}), force="true")
    assert taken.body["data"] == {"k": "2", "other": "1"}
    came = apply(namespace, "one", {"k": "1"})
    assert (came.status, 'conflict with "two"' in came.message) == (409, True)


def test_field_dropped_by_its_manager_is_removed(namespace: ClientNamespace) -> None:
    apply(namespace, "one", {"k": "1", "goes": "1"})
    apply(namespace, "two", {"stays": "1"})
    assert apply(namespace, "one", {"k": "1"}).body["data"] == {"k": "1", "stays": "1"}


def test_repeated_apply_has_no_new_version(namespace: ClientNamespace) -> None:
    first = apply(namespace, "one", {"k": "1"})
    assert apply(namespace, "one", {"k": "1"}).version == first.version


@pytest.mark.parametrize(
    ("meta", "status", "message"),
    [
        ({"uid": "another"}, 422, "field is immutable"),
        ({"resourceVersion": "1"}, 409, "the object has been modified"),
    ],
)
def test_apply_honors_uid_and_version_preconditions(
    namespace: ClientNamespace, meta: dict[str, str], status: int, message: str
) -> None:
    apply(namespace, "one", {"k": "1"})
    came = apply(namespace, "one", {"k": "2"}, **meta)
    assert (came.status, message in came.message) == (status, True), came.body


def test_apply_with_uid_does_not_recreate_a_deleted_object(namespace: ClientNamespace) -> None:
    came = apply(namespace, "one", {"k": "1"}, uid="gone")
    assert (came.status, "uid mismatch" in came.message) == (409, True)
    assert namespace.client.get(f"{namespace.maps}/m").status == 404


def test_apply_without_field_manager_is_rejected(namespace: ClientNamespace) -> None:
    came = namespace.client.request(
        "PATCH", f"{namespace.maps}/m", config({}), "application/apply-patch+yaml"
    )
    assert (came.status, "fieldManager" in came.message) == (422, True)


def condition(reason: str, **meta: str) -> dict[str, Any]:
    fields = {"type": "PodScheduled", "status": "False", "reason": reason}
    time = {"lastTransitionTime": "2027-01-01T00:00:00Z"}
    metadata = {"name": "a", **meta}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "status": {"conditions": [{**fields, **time}]},
    }


def apply_condition(place: ClientNamespace, body: dict[str, Any]) -> RawResponse:
    return place.client.apply(f"{place.pods}/a/status", "tenure-status", body, force="true")


def test_pod_conditions_are_distinguished_by_type(namespace: ClientNamespace) -> None:
    namespace.running()
    came = apply_condition(namespace, condition("Waiting"))
    reasons = {one["type"]: one.get("reason", "") for one in came.body["status"]["conditions"]}
    assert reasons == {"Ready": "", "PodScheduled": "Waiting"}
    assert came.body["status"]["phase"] == "Running"
    after = apply_condition(namespace, condition("Other"))
    assert [one["reason"] for one in after.body["status"]["conditions"] if "reason" in one] == ["Other"]


def test_apply_to_a_deleted_pod_is_not_found(namespace: ClientNamespace) -> None:
    assert apply_condition(namespace, condition("Waiting", uid="gone")).status == 404
