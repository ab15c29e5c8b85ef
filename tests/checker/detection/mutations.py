"""Ways to change one thing in a cluster or in an answer, and to see that the check notices."""

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
"""By name: what is done, and a part of the violation it must be reported as."""


def rows(table: Table) -> Iterable[Any]:
    """The table as pytest parameters, named by its keys."""
    return [pytest.param(*row, id=name) for name, row in table.items()]


def assert_reported(breaks: Break, violation: str) -> None:
    """Breaks the sound answer and demands the violation."""
    found = _verify_changed(breaks)
    assert any(violation in line for line in found), found


def assert_harmless(breaks: Break) -> None:
    """Changes the sound answer and demands that it stays sound."""
    found = _verify_changed(breaks)
    assert found == [], found


def _verify_changed(breaks: Break) -> list[str]:
    snapshot, response = sound_response.snapshot(), sound_response.response()
    breaks(snapshot, response)
    return verify(snapshot, response)


def find(snapshot: Snapshot, kind: str, key: str) -> Any:
    """The node, queue, pod group, pod or shape of this name."""
    names = ("uid", "name", "id")
    return next(
        item
        for item in getattr(snapshot, kind)
        if key in [getattr(item, name) for name in names if hasattr(item, name)]
    )


def set_fields(message: Any, **fields: object) -> Any:
    """Sets fields of a message."""
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def find_decision(response: Response, identifier: str) -> decision_pb2.Decision:
    """The step of this id."""
    return next(step for group in response.groups for step in group.decisions if step.id == identifier)


def drop_decisions(response: Response, *identifiers: str) -> Response:
    """Takes steps out of the answer."""
    for group in response.groups:
        kept = [step for step in group.decisions if step.id not in identifiers]
        del group.decisions[:]
        group.decisions.extend(kept)
    return response
