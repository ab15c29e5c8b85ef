"""A relist after some hours finds an event that the API server lost, though the watch shows no error."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.api.reflector import MAX_WATCH_SECONDS, Reflector
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.node import Node

from tests.kubernetes.cluster import wait_until
from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server


class FollowedNodes:
    """An object cache of nodes, with a clock that tests advance."""

    def __init__(self, api: FakeApiServer, transport: Transport) -> None:
        self.api, self.transport, self.seconds = api, transport, 0.0
        self.mirror: ObjectCache[Node] = ObjectCache(lambda: None)
        self.reflector = Reflector(transport, "/api/v1/nodes", Node, self.mirror, lambda: self.seconds)

    def lists(self) -> int:
        calls = (call for call in self.api.calls if call.path == "/api/v1/nodes" and call.method == "GET")
        return sum("watch" not in call.query for call in calls)

    def watches(self) -> int:
        return sum("watch" in call.query for call in self.api.calls)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[FollowedNodes]:
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        transport.post("/api/v1/nodes", {"metadata": {"name": "n1"}})
        made = FollowedNodes(api, transport)
        thread = threading.Thread(target=made.reflector.run)
        thread.start()
        wait_until(made.watches)
        yield made
        made.reflector.stop()
        while thread.is_alive():
            api.break_watches()
            thread.join(0.05)


def drop_event(followed: FollowedNodes) -> None:
    """Reset the object cache as if an event had been lost."""
    (node,) = followed.mirror.all()
    followed.mirror.on_remove(node)


def restart_watch(followed: FollowedNodes) -> None:
    """End the watch and wait for the next one."""
    before = followed.watches()

    def has_begun() -> bool:
        followed.api.break_watches()
        return followed.watches() > before

    wait_until(has_begun)


def test_lost_event_is_detected_by_the_periodic_relist(followed: FollowedNodes) -> None:
    drop_event(followed)
    followed.seconds = MAX_WATCH_SECONDS
    restart_watch(followed)
    assert [node.metadata.name for node in followed.mirror.all()] == ["n1"]
    assert followed.lists() == 2


def test_no_relist_before_the_period_ends(followed: FollowedNodes) -> None:
    followed.seconds = MAX_WATCH_SECONDS / 2 - 1
    restart_watch(followed)
    assert followed.lists() == 1
