"""An object cache contains the latest objects and reports the changes since the previous read."""

from typing import NamedTuple

import pytest
from tenure.kubernetes.api.api_errors import Unreachable
from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.objects.meta import Object, ObjectMeta


class RecordingHandler(NamedTuple):
    mirror: ObjectCache[Object]
    wakes: list[int]


def open_cache() -> RecordingHandler:
    wakes: list[int] = []
    return RecordingHandler(ObjectCache(lambda: wakes.append(1)), wakes)


def thing(uid: str, version: str = "1") -> Object:
    return Object(metadata=ObjectMeta(uid=uid, resource_version=version))


def test_list_replaces_all_objects_and_only_differences_are_changes() -> None:
    mirror, wakes = open_cache()
    mirror.on_replace([thing("stays"), thing("changes"), thing("goes")])
    assert mirror.take_changes() == {"stays", "changes", "goes"}
    mirror.on_replace([thing("stays"), thing("changes", "2"), thing("comes")])
    assert mirror.take_changes() == {"changes", "goes", "comes"}
    assert mirror.find("goes") is None
    assert len(wakes) == 2


def test_events_change_one_object_each() -> None:
    mirror, _ = open_cache()
    mirror.on_replace([thing("a")])
    mirror.take_changes()
    mirror.on_change(Object(metadata=ObjectMeta(uid="a", resource_version="2", labels={"key": "new"})))
    mirror.on_change(thing("b"))
    mirror.on_remove(thing("c"))
    assert mirror.take_changes() == {"a", "b"}
    assert mirror.take_changes() == set()
    assert {item.metadata.resource_version for item in mirror.all()} == {"2", "1"}


def test_event_about_fields_that_are_not_read_is_no_change() -> None:
    mirror, wakes = open_cache()
    mirror.on_replace([thing("a")])
    mirror.take_changes()
    mirror.on_change(thing("a", "2"))
    assert mirror.take_changes() == set()
    assert len(wakes) == 1
    assert [item.metadata.resource_version for item in mirror.all()] == ["2"]


def test_failed_watch_is_a_problem_until_it_recovers() -> None:
    mirror, _ = open_cache()
    assert mirror.problem == "not listed yet"
    mirror.on_replace([])
    assert mirror.problem == ""
    mirror.on_failure(Unreachable("GET /api/v1/pods: timed out"))
    assert "timed out" in mirror.problem
    mirror.on_change(thing("a"))
    assert mirror.problem == ""


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (b'{"kind": "PodGroup", "metadata": {"namespace": "team", "name": "job"}}', "PodGroup team/job"),
        (b'{"metadata": 7}', "An object"),
    ],
)
def test_unreadable_object_is_logged_once(item: bytes, name: str, caplog: pytest.LogCaptureFixture) -> None:
    mirror, _ = open_cache()
    for _ in range(2):
        mirror.on_unreadable(item, "Expected `str`, got `null` - at `$.spec.queue`")
    (message,) = caplog.messages
    assert message.startswith(f"{name} is unreadable")
    assert "$.spec.queue" in message
    assert mirror.unreadable_count == 1


UNREADABLE = b'{"metadata": {"namespace": "team", "name": "a", "uid": "a", "labels": {"key": "x"}}}'


def test_list_with_an_unreadable_version_keeps_the_last_readable_one() -> None:
    mirror, _ = open_cache()
    mirror.on_replace([thing("a"), thing("b")])
    mirror.take_changes()
    mirror.on_unreadable(UNREADABLE, "odd")
    mirror.on_replace([thing("b")], {"a"})
    assert mirror.take_changes() == set()
    assert [mirror.find(uid) for uid in "ab"] == [thing("a"), thing("b")]
    assert mirror.unreadable("a") is None
    mirror.on_replace([thing("b")])
    assert mirror.take_changes() == {"a"}
    assert mirror.find("a") is None


@pytest.mark.parametrize("end", ["readable", "listed", "deleted", "not listed"])
def test_object_without_a_readable_version_is_known_by_its_metadata(end: str) -> None:
    mirror, wakes = open_cache()
    mirror.on_unreadable(UNREADABLE, "odd")
    mirror.on_replace([thing("b")], {"a"})
    assert mirror.take_changes() == {"a", "b"}
    found = mirror.unreadable("a")
    assert found is not None
    assert (found.metadata.name, found.metadata.labels, found.problem) == ("a", {"key": "x"}, "odd")
    before = len(wakes)
    if end == "readable":
        mirror.on_change(thing("a"))
    elif end == "listed":
        mirror.on_replace([thing("a"), thing("b")])
    elif end == "deleted":
        mirror.on_remove(thing("a"))
    else:
        mirror.on_replace([thing("b")])
    assert mirror.unreadable("a") is None
    assert mirror.take_changes() == {"a"}
    assert len(wakes) == before + 1


def test_names_of_unreadable_metadata_are_known() -> None:
    mirror, _ = open_cache()
    mirror.on_unreadable(b'{"metadata": {"name": "a", "uid": "a", "labels": {"key": 7}}}', "odd")
    found = mirror.unreadable("a")
    assert found is not None
    assert (found.metadata.name, found.metadata.labels) == ("a", {})
