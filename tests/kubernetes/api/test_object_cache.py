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
