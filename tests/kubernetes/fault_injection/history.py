"""The history of a run, in order: every call of adapters and every version of objects.

Calls are recorded by a proxy between adapters and API server; objects come from watches of the API server.
Times are seconds since 1970 by the clock of the test process.
"""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple


class RecordedRequest(NamedTuple):
    """A request of an adapter. `number` counts the calls of a run, from 1."""

    number: int
    actor: str
    method: str
    path: str
    query: str
    body: Any

    @property
    def is_watch(self) -> bool:
        """Whether the request is a watch."""
        return "watch=true" in self.query

    @property
    def is_write(self) -> bool:
        """Whether the request can change an object."""
        return self.method != "GET"

    @property
    def is_of_lease(self) -> bool:
        """Whether the request is about the lease."""
        return "/leases" in self.path

    @property
    def is_eviction(self) -> bool:
        """Whether the request is an eviction."""
        return self.method == "POST" and self.path.endswith("/eviction")

    @property
    def is_binding(self) -> bool:
        """Whether the request is a binding."""
        return self.method == "POST" and self.path.endswith("/binding")

    @property
    def uid(self) -> str:
        """The pod uid of a binding or an eviction."""
        if self.is_eviction:
            return str(self.body["deleteOptions"]["preconditions"]["uid"])
        return str(self.body["metadata"]["uid"])


class RecordedCall(NamedTuple):
    """A request and its result."""

    request: RecordedRequest
    began: float
    ended: float
    was_sent: bool
    """Whether the request reached the API server."""
    status: int
    """Status of the API server; 0 without a response, or if it was not called."""

    @property
    def is_done(self) -> bool:
        """Whether the API server reported success."""
        return 200 <= self.status < 300


class ObjectVersion(NamedTuple):
    """One version of an object: ADDED, MODIFIED or, for its last one, DELETED."""

    at: float
    event: str
    object: dict[str, Any]

    @property
    def is_gone(self) -> bool:
        """Whether the object is deleted."""
        return self.event == "DELETED"

    @property
    def uid(self) -> str:
        """Uid of the object."""
        return str(self.object["metadata"]["uid"])

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the object."""
        found: dict[str, str] = self.object["metadata"].get("annotations", {})
        return found

    @property
    def pod_group(self) -> str:
        """The pod group of a pod."""
        return self.annotations.get("pod-group-name", "")

    @property
    def node(self) -> str:
        """The node of a pod; empty while it is pending."""
        return str(self.object["spec"].get("nodeName", ""))

    @property
    def is_ending(self) -> bool:
        """Whether the object is terminating."""
        return self.is_gone or "deletionTimestamp" in self.object["metadata"]

    @property
    def was_evicted(self) -> bool:
        """Whether the Eviction API started the termination of a pod."""
        found = self.object["status"].get("conditions", [])
        return any(one.get("reason") == "EvictionByEvictionAPI" for one in found)


class History:
    """The history of a run. Thread-safe."""

    def __init__(self) -> None:
        self.calls: list[RecordedCall] = []
        self.pods: list[ObjectVersion] = []
        self.pod_groups: list[ObjectVersion] = []
        self._numbers = 0
        self._counting = threading.Lock()

    def next_number(self) -> int:
        """Return the number of the next call."""
        with self._counting:
            self._numbers += 1
            return self._numbers

    def steps(self) -> Iterator[RecordedCall]:
        """Return bindings and evictions in order of arrival."""
        for call in sorted(self.calls, key=lambda call: call.request.number):
            if call.request.is_binding or call.request.is_eviction:
                yield call

    def lines(self) -> Iterator[tuple[float, str]]:
        """Return all calls but those of events, and all versions of pods, with their times."""
        for call in self.calls:
            request = call.request
            if "/events" in request.path:
                continue
            taken, sent = call.ended - call.began, "" if call.was_sent else ", not sent"
            name = f"call {request.number} of {request.actor}: {request.method} {request.path}"
            yield call.began, f"{name} -> {call.status} in {taken:.2f} s{sent}"
            if request.is_binding:
                yield call.began, f"call {request.number} binds to {request.body['target']['name']}"
        for seen in self.pods:
            name, phase = seen.object["metadata"]["name"], seen.object["status"].get("phase")
            ending = ", ending" if seen.is_ending else ""
            yield (
                seen.at,
                f"pod {name} {seen.uid[:8]} {seen.event}: {phase} on {seen.node or 'no node'}{ending}",
            )
