"""A reflector reports each change once and in order, whatever happens to its connections."""

import json
import random
import threading
import time
from collections.abc import Iterator, Set
from typing import Any

import pytest
from lightkube.core.exceptions import ConfigError
from tenure.kubernetes.api import reflector
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.reflector import Reflector
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.objects.meta import Object

from tests.kubernetes.cluster import PATIENCE_SECONDS, wait_until
from tests.kubernetes.fake_api_server.server import FakeApiServer

_ALL = "/api/v1/configmaps"
_MAPS = "/api/v1/namespaces/team/configmaps"


class RecordingHandler:
    """Records notifications and the objects that result from them."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        """Versions by name."""
        self.lists = 0
        self.versions: list[int] = []
        """Of events, in the order of notification."""
        self.unread: list[str] = []
        self.unread_uids: set[str] = set()
        """Of the last list."""
        self.failures: list[float] = []
        """Time of each failure."""

    def on_replace(self, objects: list[Object], unreadable: Set[str]) -> None:
        self.lists, self.unread_uids = self.lists + 1, set(unreadable)
        self.objects = {item.metadata.name: item.metadata.resource_version for item in objects}

    def on_change(self, item: Object) -> None:
        self.versions.append(int(item.metadata.resource_version))
        self.objects[item.metadata.name] = item.metadata.resource_version

    def on_remove(self, item: Object) -> None:
        self.versions.append(int(item.metadata.resource_version))
        del self.objects[item.metadata.name]

    def on_unreadable(self, item: bytes, problem: str) -> None:
        self.unread.append(problem)

    def on_failure(self, failure: ApiError) -> None:
        self.failures.append(time.monotonic())

    def on_synced(self) -> None: ...


class RunningReflector:
    """A reflector of all ConfigMaps, and methods to write them."""

    def __init__(self, api: FakeApiServer, transport: Transport) -> None:
        self.api, self.transport = api, transport
        self.heard = RecordingHandler()
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

    def objects(self) -> dict[str, str]:
        """Versions by name on the API server."""
        items = json.loads(self.transport.get(_ALL))["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def is_in_sync(self) -> bool:
        return self.heard.lists > 0 and self.heard.objects == self.objects()


@pytest.fixture
def following(api: FakeApiServer, transport: Transport) -> Iterator[RunningReflector]:
    made = RunningReflector(api, transport)
    yield made
    made.stop()


def test_pages_of_a_list_are_delivered_together_and_watched_from_their_version(
    following: RunningReflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 3)
    for i in range(8):
        following.put(f"m{i}")
    following.start()
    wait_until(lambda: len(following.heard.objects) == 8)
    following.change("m3", "new")
    following.transport.delete(f"{_MAPS}/m5")
    wait_until(following.is_in_sync)
    assert (following.heard.lists, len(following.heard.versions)) == (1, 2)


def test_list_that_expires_between_two_pages_is_restarted(
    following: RunningReflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 3)
    for i in range(4):
        following.put(f"m{i}")
    following.api.faults.slow("GET", _ALL, 0.0)  # the first page is sent without a fault
    following.api.faults.refuse("GET", _ALL, 410)
    following.start()
    wait_until(following.is_in_sync)
    assert following.heard.lists == 1


def test_watches_interrupted_at_any_byte_miss_and_repeat_nothing(following: RunningReflector) -> None:
    cuts, chosen = 40, random.Random(1)
    for i in range(5):
        following.put(f"m{i}")
    for _ in range(cuts):
        following.api.faults.cut("WATCH", _ALL, after=chosen.randrange(700))
    following.start()
    wait_until(lambda: following.heard.lists == 1)  # earlier writes are listed, not reported as changes
    writes = 0
    while following.api.faults.left:
        writes += 1
        following.change(f"m{writes % 5}", str(writes))
    wait_until(following.is_in_sync)
    assert following.heard.lists == 1
    assert following.heard.versions == sorted(set(following.heard.versions))
    assert len(following.heard.versions) == writes


def test_expired_version_causes_a_relist_with_deletions(following: RunningReflector) -> None:
    for name in ("stays", "goes"):
        following.put(name)
    following.start()
    wait_until(following.is_in_sync)
    following.api.faults.ignore("WATCH", _ALL, times=3)
    following.api.break_watches()
    following.transport.delete(f"{_MAPS}/goes")
    following.put("comes")
    following.api.compact()
    wait_until(following.is_in_sync)
    assert following.heard.lists == 2
    assert following.heard.versions == []


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The longest durations of the pauses before retries, which are a hundredth as long in fact."""
    found: list[float] = []

    def shortened(low: float, high: float) -> float:
        if low:
            return low
        found.append(high)
        return high / 100

    monkeypatch.setattr(random, "uniform", shortened)
    return found


GROWING = [reflector._FIRST_PAUSE * factor for factor in (1, 2, 4, 8)]


@pytest.mark.parametrize("answer", ["refused", "no answer"])
def test_failing_api_server_is_retried_with_growing_backoff(
    following: RunningReflector, answer: str, pauses: list[float]
) -> None:
    faults = following.api.faults
    if answer == "refused":
        faults.refuse("GET", _ALL, 503, times=1000)
    else:
        faults.ignore("GET", _ALL, times=1000)
    following.start()
    wait_until(lambda: len(pauses) > len(GROWING))
    assert pauses[: len(GROWING)] == GROWING
    assert len(following.heard.failures) >= len(GROWING)


def test_unreadable_object_is_skipped_and_later_ones_are_not(
    following: RunningReflector,
) -> None:
    following.put("before")
    following.start()
    wait_until(following.is_in_sync)
    odd = {"metadata": {"name": "odd", "labels": {"a": 1}}}
    following.transport.post(_MAPS, odd)
    following.put("after")
    wait_until(lambda: "after" in following.heard.objects)
    assert set(following.heard.objects) == {"before", "after"}
    assert len(following.heard.unread) == 1


def test_unreadable_object_of_a_list_is_named_by_its_uid(following: RunningReflector) -> None:
    odd = {"metadata": {"name": "odd", "labels": {"a": 1}}}
    uid = json.loads(following.transport.post(_MAPS, odd))["metadata"]["uid"]
    following.put("good")
    following.start()
    wait_until(lambda: following.heard.lists)
    assert (set(following.heard.objects), following.heard.unread_uids) == ({"good"}, {uid})


@pytest.mark.parametrize("problem", [ConfigError("Exec aws returned 255"), RuntimeError("odd")])
def test_any_watch_error_is_reported_and_watching_resumes(
    following: RunningReflector, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    asks, ends = following.transport.lines, [problem]

    def lines(*about: Any) -> Any:
        if ends:
            raise ends.pop()
        return asks(*about)

    monkeypatch.setattr(following.transport, "lines", lines)
    following.start()
    wait_until(lambda: following.heard.failures)
    following.put("after")
    wait_until(following.is_in_sync)


def test_deleted_object_needs_only_a_readable_name(following: RunningReflector) -> None:
    following.put("goes")
    following.start()
    wait_until(following.is_in_sync)
    following.change("goes", "last form that can be read")
    following.transport.patch(f"{_MAPS}/goes", {"metadata": {"labels": {"a": 1}}}, MERGE_PATCH)
    wait_until(lambda: following.heard.unread)
    following.transport.delete(f"{_MAPS}/goes")
    wait_until(lambda: following.heard.objects == {})


@pytest.mark.parametrize("status", [404, 410])
def test_unwatchable_kind_is_relisted_with_growing_backoff(
    following: RunningReflector, status: int, pauses: list[float]
) -> None:
    following.api.faults.refuse("WATCH", _ALL, status, times=100_000)
    following.start()
    wait_until(lambda: len(pauses) > len(GROWING))
    assert pauses[: len(GROWING)] == GROWING


def test_backoff_stays_at_the_first_pause_while_watches_deliver_events(
    following: RunningReflector, pauses: list[float]
) -> None:
    following.put("m")
    following.start()
    rounds = 10
    for i in range(rounds):
        wait_until(following.is_in_sync)
        following.change("m", str(i))
        wait_until(following.is_in_sync)
        following.api.expire_watches()
        wait_until(lambda lists=i + 2: following.heard.lists == lists)
    assert pauses == [reflector._FIRST_PAUSE] * rounds


def test_stopped_reflector_ends_without_an_event(following: RunningReflector) -> None:
    following.start()
    wait_until(lambda: [call for call in following.api.calls if "watch" in call.query])
    following._reflector.stop()
    following._thread.join(PATIENCE_SECONDS)
    assert not following._thread.is_alive()
