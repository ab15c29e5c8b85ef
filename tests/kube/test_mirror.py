"""A mirror holds what was heard last, and tells what changed since it was asked."""

from typing import NamedTuple

import pytest
from tenure.client.kubernetes.failures import Unreachable
from tenure.client.kubernetes.mirror import Mirror
from tenure.client.kubernetes.objects.meta import Object, ObjectMeta


class Heard(NamedTuple):
    mirror: Mirror[Object]
    wakes: list[int]


def listening() -> Heard:
    wakes: list[int] = []
    return Heard(Mirror(lambda: wakes.append(1)), wakes)


def thing(uid: str, version: str = "1") -> Object:
    return Object(metadata=ObjectMeta(uid=uid, resource_version=version))


def test_a_list_replaces_everything_and_only_differences_are_changes() -> None:
    mirror, wakes = listening()
    mirror.replaced([thing("stays"), thing("changes"), thing("goes")])
    assert mirror.take_changes() == {"stays", "changes", "goes"}
    mirror.replaced([thing("stays"), thing("changes", "2"), thing("comes")])
    assert mirror.take_changes() == {"changes", "goes", "comes"}
    assert mirror.find("goes") is None
    assert len(wakes) == 2


def test_events_change_one_object_each() -> None:
    mirror, _ = listening()
    mirror.replaced([thing("a")])
    mirror.take_changes()
    mirror.changed(thing("a", "2"))
    mirror.changed(thing("b"))
    mirror.removed(thing("c"))
    assert mirror.take_changes() == {"a", "b"}
    assert mirror.take_changes() == set()
    assert {item.metadata.resource_version for item in mirror.all()} == {"2", "1"}


def test_what_cannot_be_followed_has_a_problem_until_it_can() -> None:
    mirror, _ = listening()
    assert mirror.problem == "not listed yet"
    mirror.replaced([])
    assert mirror.problem == ""
    mirror.failed(Unreachable("GET /api/v1/pods: timed out"))
    assert "timed out" in mirror.problem
    mirror.changed(thing("a"))
    assert mirror.problem == ""


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (b'{"kind": "PodGroup", "metadata": {"namespace": "team", "name": "job"}}', "PodGroup team/job"),
        (b'{"metadata": 7}', "An object"),
    ],
)
def test_what_cannot_be_read_is_told_once(item: bytes, name: str, caplog: pytest.LogCaptureFixture) -> None:
    mirror, _ = listening()
    for _ in range(2):
        mirror.unreadable(item, "Expected `str`, got `null` - at `$.spec.queue`")
    (told,) = caplog.messages
    assert told.startswith(f"{name} cannot be read")
    assert "$.spec.queue" in told
    assert mirror.unreadable_count == 1
