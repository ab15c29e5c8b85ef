"""The exchange of docs/integrate/state-sync.md: the server responds as the page shows."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from google.protobuf.json_format import MessageToDict, Parse
from google.protobuf.message import Message
from tenure.v1 import decide_pb2, state_pb2

from tests.e2e.command import ROOT
from tests.state.state_calls import stub

PAGE: Final = ROOT / "docs/integrate/state-sync.md"
_BLOCK: Final = re.compile(r"^`(\w+)`\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
_METHODS: Final = {
    "PutSnapshotRequest": "PutSnapshot",
    "DecideRequest": "Decide",
    "SyncStateRequest": "SyncState",
}
"""Methods by request type of the example."""


def messages() -> Iterator[Message]:
    """Return the messages of the page, in order. Raises ParseError for unknown fields."""
    for name, text in _BLOCK.findall(PAGE.read_text()):
        kind = getattr(state_pb2, name, None) or getattr(decide_pb2, name)
        yield Parse(text, kind())


def call(service: Any, request: Message) -> Message:
    name = _METHODS[request.DESCRIPTOR.name]
    if name == "Decide":
        return service.Decide(request, timeout=60)
    answer = getattr(service, name)(iter([request]), timeout=60)
    return next(answer) if name == "SyncState" else answer


def contains(expected: Any, actual: Any) -> bool:
    """Whether a message contains all expected fields. Expected lists may omit rows."""
    if isinstance(expected, dict):
        return all(key in actual and contains(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        rows = iter(actual)
        return all(any(contains(row, other) for other in rows) for row in expected)
    return bool(expected == actual)


def test_server_returns_the_responses_of_the_page() -> None:
    compared, answer = 0, None
    with stub() as service:
        for message in messages():
            if message.DESCRIPTOR.name in _METHODS:
                answer = call(service, message)
            else:
                assert answer is not None
                assert type(answer) is type(message)
                assert contains(MessageToDict(message), MessageToDict(answer)), answer
                compared += 1
    assert compared == 3


@pytest.mark.parametrize(
    ("expected", "is_there"),
    [({"a": [1, 3]}, True), ({"a": [3, 1]}, False), ({"b": 1}, False), ({"a": [1, 2, 3, 4]}, False)],
)
def test_missing_value_is_detected(expected: dict[str, object], is_there: bool) -> None:
    assert contains(expected, {"a": [1, 2, 3], "c": 0}) is is_there
