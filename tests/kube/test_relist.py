"""An event that an API server lost is noticed after some hours, though the watch seems to be well."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client.kubernetes.mirror import Mirror
from tenure.client.kubernetes.objects.node import Node
from tenure.client.kubernetes.reflector import LONGEST_WATCHING, Reflector
from tenure.client.kubernetes.transport import Transport

from tests.kube.cluster import eventually
from tests.kube.fake.server import FakeApiServer, serving


class Followed:
    """Nodes that are followed, by a clock that can be moved on."""

    def __init__(self, api: FakeApiServer, transport: Transport) -> None:
        self.api, self.transport, self.seconds = api, transport, 0.0
        self.mirror: Mirror[Node] = Mirror(lambda: None)
        self.reflector = Reflector(transport, "/api/v1/nodes", Node, self.mirror, lambda: self.seconds)

    def lists(self) -> int:
        calls = (call for call in self.api.calls if call.path == "/api/v1/nodes" and call.method == "GET")
        return sum("watch" not in call.query for call in calls)

    def watches(self) -> int:
        return sum("watch" in call.query for call in self.api.calls)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    with serving(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        transport.post("/api/v1/nodes", {"metadata": {"name": "n1"}})
        made = Followed(api, transport)
        thread = threading.Thread(target=made.reflector.run)
        thread.start()
        eventually(made.watches)
        yield made
        made.reflector.stop()
        while thread.is_alive():
            api.break_watches()
            thread.join(0.05)


def lose(followed: Followed) -> None:
    """The mirror is as if an event had not come."""
    (node,) = followed.mirror.all()
    followed.mirror.removed(node)


def watched_again(followed: Followed) -> None:
    """Let the watch end, and another begin."""
    before = followed.watches()

    def has_begun() -> bool:
        followed.api.break_watches()
        return followed.watches() > before

    eventually(has_begun)


def test_an_event_that_was_lost_is_noticed_after_hours(followed: Followed) -> None:
    lose(followed)
    followed.seconds = LONGEST_WATCHING
    watched_again(followed)
    assert [node.metadata.name for node in followed.mirror.all()] == ["n1"]
    assert followed.lists() == 2


def test_before_that_nothing_is_listed_again(followed: Followed) -> None:
    followed.seconds = LONGEST_WATCHING / 2 - 1
    watched_again(followed)
    assert followed.lists() == 1
