"""Questions about one workload, and cycles that are decided again: calls of Explain and Simulate.

Answers are kept for the state that they are about, so that many readers cost one call.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tenure.client import Client, StateMismatch
from tenure.console.access import Access, Reader
from tenure.console.view import View
from tenure.console.what_if import Answer, Form, answer_of, request_of
from tenure.v1.cycles_pb2 import ListCyclesRequest, RecentCycle
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.simulate_pb2 import SimulateRequest

CALL_SECONDS: Final = 20.0
MAX_ANSWERS: Final = 200
MAX_ATTEMPTS: Final = 5
"""Attempts to ask about a state that changes meanwhile."""
QUESTIONS: Final = ("why_pending", "when_starts", "why_victim", "protected_until")


@dataclass(frozen=True)
class Replayed:
    """A cycle that was decided again."""

    is_identical: bool
    differences: list[str]


class Questions:
    """Asks the service for readers. Thread-safe."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._changing = threading.Lock()

    def explain(self, reader: Reader, view: View, question: str, uid: str) -> ExplainResponse:
        """Answer of the service. Raises TenureError, TooManyQueries."""

        request = ExplainRequest(state=view.state)
        if question == "when_starts":
            request.when_starts.pod_groups.append(uid)
        else:
            getattr(request, question).pod_group = uid

        def call(client: Client) -> ExplainResponse:
            return _on_newest(client, request, client.explain)  # type: ignore[no-any-return]

        return self._cached(reader, (view.state.SerializeToString(), question, uid), call)  # type: ignore[no-any-return]

    def what_if(self, reader: Reader, view: View, form: Form) -> Answer:
        """Simulate the workload of a form. Raises InvalidForm, TenureError, TooManyQueries."""
        request = request_of(view, form)

        def call(client: Client) -> DecideResponse:
            return _on_newest(client, request, client.simulate).cycles[0]  # type: ignore[no-any-return]

        key = view.state.SerializeToString(), request.SerializeToString(deterministic=True)
        return answer_of(view, request, self._cached(reader, key, call))

    def replay(self, reader: Reader, view: View, cycle: RecentCycle) -> Replayed | None:
        """Decide a cycle again. None: its state is not kept."""
        header = cycle.response.header
        snapshot = view.versions.get(header.version)
        if snapshot is None:
            return None
        request = SimulateRequest(snapshot=snapshot, now=header.now)
        again = self._cached(
            reader,
            (view.state.cluster_id, view.state.node_pool, view.state.epoch, "replay", cycle.number),
            lambda client: client.simulate(request, CALL_SECONDS).cycles[0],
        )
        return _compare(cycle.response, again)

    def _cached(self, reader: Reader, key: tuple[Any, ...], call: Callable[[Client], Any]) -> Any:
        key = (reader.credentials, *key)
        with self._changing:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with self._access.query(reader):
            answer = call(reader.client)
        with self._changing:
            self._kept[key] = answer
            while len(self._kept) > MAX_ANSWERS:
                self._kept.popitem(last=False)
        return answer


def _on_newest(
    client: Client, request: ExplainRequest | SimulateRequest, call: Callable[[Any, float], Any]
) -> Any:
    """Call with the state of the request, or with its newest version if that is another one by now."""
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return call(request, CALL_SECONDS)
        except StateMismatch:
            where = ListCyclesRequest(
                cluster_id=request.state.cluster_id, node_pool=request.state.node_pool, after=2**62
            )
            request.state.CopyFrom(client.list_cycles(where, CALL_SECONDS).state)
    return call(request, CALL_SECONDS)


def _compare(first: DecideResponse, again: DecideResponse) -> Replayed:
    if first.SerializeToString(deterministic=True) == again.SerializeToString(deterministic=True):
        return Replayed(True, [])
    names = [
        field.name.replace("_", " ")
        for field in DecideResponse.DESCRIPTOR.fields
        if getattr(first, field.name) != getattr(again, field.name)
    ]
    return Replayed(False, names)
