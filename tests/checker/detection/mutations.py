"""Change one thing in a snapshot or a response, and assert what the checker reports."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tenure.v1 import decide_pb2, decision_pb2, snapshot_pb2

from tests.checker import verify
from tests.checker.detection import sound_response

Snapshot = snapshot_pb2.ClusterSnapshot
Response = decide_pb2.DecideResponse
Break = Callable[[Snapshot, Response], object]
Table = dict[str, tuple[Break, str]]
"""Change and part of the expected violation, by test name."""


def rows(table: Table) -> Iterable[Any]:
    """Return the table as pytest parameters, with its keys as test ids."""
    return [pytest.param(*row, id=name) for name, row in table.items()]


def assert_reported(breaks: Break, violation: str) -> None:
    """Apply a change to the sound response and assert that the checker reports the violation."""
    found = _verify_changed(breaks)
    assert any(violation in line for line in found), found


def assert_harmless(breaks: Break) -> None:
    """Apply a change to the sound response and assert that it has no violations."""
    found = _verify_changed(breaks)
    assert found == [], found


def _verify_changed(breaks: Break) -> list[str]:
    snapshot, response = sound_response.snapshot(), sound_response.response()
    breaks(snapshot, response)
    return verify(snapshot, response)


def find(snapshot: Snapshot, kind: str, key: str) -> Any:
    """Return the node, queue, pod group, pod or shape with this name."""
    names = ("uid", "name", "id")
    return next(
        item
        for item in getattr(snapshot, kind)
        if key in [getattr(item, name) for name in names if hasattr(item, name)]
    )


def set_fields(message: Any, **fields: object) -> Any:
    """Set fields of a message."""
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def find_decision(response: Response, identifier: str) -> decision_pb2.Decision:
    """Return the decision with this id."""
    return next(step for group in response.groups for step in group.decisions if step.id == identifier)


def drop_decisions(response: Response, *identifiers: str) -> Response:
    """Remove decisions from the response."""
    for group in response.groups:
        kept = [step for step in group.decisions if step.id not in identifiers]
        del group.decisions[:]
        group.decisions.extend(kept)
    return response
