"""A reflector tells everything once and in order, whatever happens to its connections."""

import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube.core.exceptions import ConfigError
from tenure.client.kubernetes import reflector
from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.objects.meta import Object
from tenure.client.kubernetes.reflector import Reflector
from tenure.client.kubernetes.transport import MERGE_PATCH, Transport

from tests.kube.cluster import eventually
from tests.kube.fake.server import FakeApiServer

_ALL = "/api/v1/configmaps"
_MAPS = "/api/v1/namespaces/team/configmaps"


class Heard:
    """What was told, and what is there according to it."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        """Versions by name."""
        self.lists = 0
        self.versions: list[int] = []
        """Of events, in the order they were told."""
        self.unread: list[str] = []
        self.failures: list[float] = []
        """When each was told."""

    def replaced(self, objects: list[Object]) -> None:
        self.lists += 1
        self.objects = {item.metadata.name: item.metadata.resource_version for item in objects}

    def changed(self, item: Object) -> None:
        self.versions.append(int(item.metadata.resource_version))
        self.objects[item.metadata.name] = item.metadata.resource_version

    def removed(self, item: Object) -> None:
        self.versions.append(int(item.metadata.resource_version))
        del self.objects[item.metadata.name]

    def unreadable(self, item: bytes, problem: str) -> None:
        self.unread.append(problem)

    def failed(self, failure: ApiFailure) -> None:
        self.failures.append(time.monotonic())

    def followed(self) -> None: ...


class Following:
    """A reflector of all config maps, and whoever writes them."""

    def __init__(self, api: FakeApiServer, transport: Transport) -> None:
        self.api, self.transport = api, transport
        self.heard = Heard()
        self._reflector = Reflector(transport, _ALL, Object, self.heard)
        self._thread = threading.Thread(target=self._reflector.run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._reflector.stop()
        self.api.break_watches()
        if self._thread.ident is not None:
            self._thread.join()

    def put(self, name: str, text: str = "") -> None:
        self.transport.post(_MAPS, {"metadata": {"name": name}, "data": {"k": text}})

    def change(self, name: str, text: str) -> None:
        self.transport.patch(f"{_MAPS}/{name}", {"data": {"k": text}}, MERGE_PATCH)

    def there(self) -> dict[str, str]:
        """Versions by name, as the API server has them."""
        items = json.loads(self.transport.get(_ALL))["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def agrees(self) -> bool:
        return self.heard.lists > 0 and self.heard.objects == self.there()


@pytest.fixture
def following(api: FakeApiServer, transport: Transport) -> Iterator[Following]:
    made = Following(api, transport)
    yield made
    made.stop()


def test_pages_of_a_list_are_told_together_and_followed_from_their_version(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 3)
    for i in range(8):
        following.put(f"m{i}")
    following.start()
    eventually(lambda: len(following.heard.objects) == 8)
    following.change("m3", "new")
    following.transport.delete(f"{_MAPS}/m5")
    eventually(following.agrees)
    assert (following.heard.lists, len(following.heard.versions)) == (1, 2)


def test_a_list_that_is_forgotten_between_two_pages_is_begun_anew(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 3)
    for i in range(4):
        following.put(f"m{i}")
    following.api.faults.slow("GET", _ALL, 0.0)  # the first page is an answer like any other
    following.api.faults.refuse("GET", _ALL, 410)
    following.start()
    eventually(following.agrees)
    assert following.heard.lists == 1


def test_watches_that_break_at_any_byte_lose_nothing_and_repeat_nothing(following: Following) -> None:
    cuts, chosen = 40, random.Random(1)
    for i in range(5):
        following.put(f"m{i}")
    for _ in range(cuts):
        following.api.faults.cut("WATCH", _ALL, after=chosen.randrange(700))
    following.start()
    eventually(lambda: following.heard.lists == 1)  # what is written before is listed, not told
    writes = 0
    while following.api.faults.left:
        writes += 1
        following.change(f"m{writes % 5}", str(writes))
    eventually(following.agrees)
    assert following.heard.lists == 1
    assert following.heard.versions == sorted(set(following.heard.versions))
    assert len(following.heard.versions) == writes


def test_what_is_forgotten_is_listed_anew_with_all_that_went_away(following: Following) -> None:
    for name in ("stays", "goes"):
        following.put(name)
    following.start()
    eventually(following.agrees)
    following.api.faults.ignore("WATCH", _ALL, times=3)
    following.api.break_watches()
    following.transport.delete(f"{_MAPS}/goes")
    following.put("comes")
    following.api.compact()
    eventually(following.agrees)
    assert following.heard.lists == 2
    assert following.heard.versions == []


@pytest.mark.parametrize("answer", ["refused", "no answer"])
def test_who_does_not_answer_is_asked_less_and_less_often(following: Following, answer: str) -> None:
    faults = following.api.faults
    if answer == "refused":
        faults.refuse("GET", _ALL, 503, times=1000)
    else:
        faults.ignore("GET", _ALL, times=1000)
    following.start()
    time.sleep(1.0)
    assert 2 <= len(following.heard.failures) <= 15


def test_an_object_that_cannot_be_read_is_left_out_and_those_after_it_are_not(following: Following) -> None:
    following.put("before")
    following.start()
    eventually(following.agrees)
    odd = {"metadata": {"name": "odd", "labels": {"a": 1}}}
    following.transport.post(_MAPS, odd)
    following.put("after")
    eventually(lambda: "after" in following.heard.objects)
    assert set(following.heard.objects) == {"before", "after"}
    assert len(following.heard.unread) == 1


@pytest.mark.parametrize("problem", [ConfigError("Exec aws returned 255"), RuntimeError("odd")])
def test_whatever_a_watch_ends_with_is_told_and_following_goes_on(
    following: Following, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    asks, ends = following.transport.lines, [problem]

    def lines(*about: Any) -> Any:
        if ends:
            raise ends.pop()
        return asks(*about)

    monkeypatch.setattr(following.transport, "lines", lines)
    following.start()
    eventually(lambda: following.heard.failures)
    following.put("after")
    eventually(following.agrees)


def test_of_an_object_that_is_gone_only_its_name_need_be_readable(following: Following) -> None:
    following.put("goes")
    following.start()
    eventually(following.agrees)
    following.change("goes", "last form that can be read")
    following.transport.patch(f"{_MAPS}/goes", {"metadata": {"labels": {"a": 1}}}, MERGE_PATCH)
    eventually(lambda: following.heard.unread)
    following.transport.delete(f"{_MAPS}/goes")
    eventually(lambda: following.heard.objects == {})


@pytest.mark.parametrize("status", [404, 410])
def test_lists_of_what_cannot_be_watched_come_less_and_less_often(following: Following, status: int) -> None:
    following.api.faults.refuse("WATCH", _ALL, status, times=100_000)
    following.start()
    time.sleep(1.0)
    assert 1 <= following.heard.lists <= 15


def test_pauses_before_lists_stay_short_while_watches_tell_something_before_they_expire(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def shortest(low: float, high: float) -> float:
        if not low:
            pauses.append(high)
        return low

    monkeypatch.setattr(random, "uniform", shortest)
    following.put("m")
    following.start()
    rounds = 10
    for i in range(rounds):
        eventually(following.agrees)
        following.change("m", str(i))
        eventually(following.agrees)
        following.api.expire_watches()
        eventually(lambda lists=i + 2: following.heard.lists == lists)
    assert pauses == [reflector._FIRST_PAUSE] * rounds


def test_who_is_stopped_waits_for_no_event(following: Following) -> None:
    following.start()
    eventually(following.agrees)
    time.sleep(0.2)
    following._reflector.stop()
    following._thread.join(2)
    assert not following._thread.is_alive()
