"""Server-side apply: what one manager says, and what others said."""

from typing import Any

import pytest

from tests.kube.contract.asking import Place, Reply


def config(data: dict[str, str], **meta: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **meta}, "data": data}


def apply(place: Place, manager: str, data: dict[str, str], **meta: str) -> Reply:
    return place.asker.apply(f"{place.maps}/m", manager, config(data, **meta))


def test_what_is_not_there_is_created(place: Place) -> None:
    came = apply(place, "one", {"k": "1"})
    assert (came.status, came.body["data"]) == (201, {"k": "1"})


def test_what_another_manager_said_is_a_conflict(place: Place) -> None:
    apply(place, "one", {"k": "1"})
    came = apply(place, "two", {"k": "2"})
    assert (came.status, 'conflict with "one": .data.k' in came.said) == (409, True)
    assert came.causes == ["FieldManagerConflict"]


def test_what_was_written_in_another_way_is_a_conflict_too(place: Place) -> None:
    place.asker.ask("POST", place.maps, config({"k": "1"}), fieldManager="one")
    came = apply(place, "two", {"k": "2"})
    assert (came.status, 'conflict with "one" using v1: .data.k' in came.said) == (409, True)


def test_the_same_said_by_two_is_no_conflict_and_stays_while_one_says_it(place: Place) -> None:
    apply(place, "one", {"k": "1"})
    assert apply(place, "two", {"k": "1"}).status == 200
    assert apply(place, "one", {}).body["data"] == {"k": "1"}
    assert "data" not in apply(place, "two", {}).body


def test_force_takes_fields_over_and_nothing_else(place: Place) -> None:
    apply(place, "one", {"k": "1", "other": "1"})
    taken = place.asker.apply(f"{place.maps}/m", "two", config({"k": "2"}), force="true")
    assert taken.body["data"] == {"k": "2", "other": "1"}
    came = apply(place, "one", {"k": "1"})
    assert (came.status, 'conflict with "two"' in came.said) == (409, True)


def test_what_a_manager_says_no_more_is_gone(place: Place) -> None:
    apply(place, "one", {"k": "1", "goes": "1"})
    apply(place, "two", {"stays": "1"})
    assert apply(place, "one", {"k": "1"}).body["data"] == {"k": "1", "stays": "1"}


def test_what_is_said_again_is_no_new_version(place: Place) -> None:
    first = apply(place, "one", {"k": "1"})
    assert apply(place, "one", {"k": "1"}).version == first.version


@pytest.mark.parametrize(
    ("meta", "status", "said"),
    [
        ({"uid": "another"}, 422, "field is immutable"),
        ({"resourceVersion": "1"}, 409, "the object has been modified"),
    ],
)
def test_it_is_fenced_by_uid_and_version(place: Place, meta: dict[str, str], status: int, said: str) -> None:
    apply(place, "one", {"k": "1"})
    came = apply(place, "one", {"k": "2"}, **meta)
    assert (came.status, said in came.said) == (status, True), came.body


def test_what_is_gone_is_not_made_anew_for_its_uid(place: Place) -> None:
    came = apply(place, "one", {"k": "1"}, uid="gone")
    assert (came.status, "uid mismatch" in came.said) == (409, True)
    assert place.asker.get(f"{place.maps}/m").status == 404


def test_nobody_applies_without_a_name(place: Place) -> None:
    came = place.asker.ask("PATCH", f"{place.maps}/m", config({}), "application/apply-patch+yaml")
    assert (came.status, "fieldManager" in came.said) == (422, True)


def condition(reason: str, **meta: str) -> dict[str, Any]:
    said = {"type": "PodScheduled", "status": "False", "reason": reason}
    time = {"lastTransitionTime": "2027-01-01T00:00:00Z"}
    metadata = {"name": "a", **meta}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "status": {"conditions": [{**said, **time}]},
    }


def tell(place: Place, said: dict[str, Any]) -> Reply:
    return place.asker.apply(f"{place.pods}/a/status", "tenure-status", said, force="true")


def test_conditions_of_pods_are_told_apart_by_their_type(place: Place) -> None:
    place.running()
    came = tell(place, condition("Waiting"))
    told = {one["type"]: one.get("reason", "") for one in came.body["status"]["conditions"]}
    assert told == {"Ready": "", "PodScheduled": "Waiting"}
    assert came.body["status"]["phase"] == "Running"
    after = tell(place, condition("Other"))
    assert [one["reason"] for one in after.body["status"]["conditions"] if "reason" in one] == ["Other"]


def test_a_pod_that_is_gone_is_told_nothing(place: Place) -> None:
    assert tell(place, condition("Waiting", uid="gone")).status == 404
