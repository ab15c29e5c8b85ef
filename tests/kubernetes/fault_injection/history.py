"""What happened in a run, in order: every call that adapters made, and every form that objects had.

Calls are as a proxy between adapters and API server saw them; objects as the API server itself tells of them.
Times are seconds since 1970 by the clock of whoever runs the test.
"""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple


class RecordedRequest(NamedTuple):
    """What an adapter asks. `number` counts the calls of a run, from 1."""

    number: int
    actor: str
    method: str
    path: str
    query: str
    body: Any

    @property
    def is_watch(self) -> bool:
        """Whether the answer goes on and on."""
        return "watch=true" in self.query

    @property
    def is_write(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"

    @property
    def is_of_lease(self) -> bool:
        """Whether it is about who leads."""
        return "/leases" in self.path

    @property
    def is_eviction(self) -> bool:
        """Whether a pod is to be evicted."""
        return self.method == "POST" and self.path.endswith("/eviction")

    @property
    def is_binding(self) -> bool:
        """Whether a pod is to be bound."""
        return self.method == "POST" and self.path.endswith("/binding")

    @property
    def uid(self) -> str:
        """Which pod is meant by a binding or an eviction."""
        if self.is_eviction:
            return str(self.body["deleteOptions"]["preconditions"]["uid"])
        return str(self.body["metadata"]["uid"])


class RecordedCall(NamedTuple):
    """A request and what came of it."""

    request: RecordedRequest
    began: float
    ended: float
    was_sent: bool
    """Whether the API server got it."""
    status: int
    """What the API server answered; 0: nothing, or it was not asked."""

    @property
    def is_done(self) -> bool:
        """Whether the API server said that it did what was asked."""
        return 200 <= self.status < 300


class ObjectVersion(NamedTuple):
    """One form of an object: ADDED, MODIFIED or, for its last one, DELETED."""

    at: float
    event: str
    object: dict[str, Any]

    @property
    def is_gone(self) -> bool:
        """Whether the object is no more."""
        return self.event == "DELETED"

    @property
    def uid(self) -> str:
        """Of the object."""
        return str(self.object["metadata"]["uid"])

    @property
    def annotations(self) -> dict[str, str]:
        """Of the object."""
        found: dict[str, str] = self.object["metadata"].get("annotations", {})
        return found

    @property
    def pod_group(self) -> str:
        """The one that a pod belongs to."""
        return self.annotations.get("pod-group-name", "")

    @property
    def node(self) -> str:
        """Where a pod is; empty: it waits."""
        return str(self.object["spec"].get("nodeName", ""))

    @property
    def is_ending(self) -> bool:
        """Whether the object was told to go."""
        return self.is_gone or "deletionTimestamp" in self.object["metadata"]

    @property
    def was_evicted(self) -> bool:
        """Whether it was the Eviction API that told a pod to go."""
        found = self.object["status"].get("conditions", [])
        return any(one.get("reason") == "EvictionByEvictionAPI" for one in found)


class History:
    """All of a run, written by several threads."""

    def __init__(self) -> None:
        self.calls: list[RecordedCall] = []
        self.pods: list[ObjectVersion] = []
        self.pod_groups: list[ObjectVersion] = []
        self._numbers = 0
        self._counting = threading.Lock()

    def next_number(self) -> int:
        """The number of the call that comes in now."""
        with self._counting:
            self._numbers += 1
            return self._numbers

    def steps(self) -> Iterator[RecordedCall]:
        """Bindings and evictions, as they came in."""
        for call in sorted(self.calls, key=lambda call: call.request.number):
            if call.request.is_binding or call.request.is_eviction:
                yield call
