"""A session that defers deltas has the same state as one that applies each delta immediately."""

from itertools import accumulate, pairwise

import pytest
from tenure.client.session import MAX_DELTAS, LocalState
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.deltas import apply_deltas, compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot


@pytest.mark.parametrize("number", [1, 7, MAX_DELTAS, MAX_DELTAS + 1, 2 * MAX_DELTAS + 3])
def test_local_state_equals_deltas_applied_one_by_one(number: int) -> None:
    draw = SeededDraw(number)
    first = generate_snapshot(draw, 5, 20)
    states = list(
        accumulate(range(number), lambda state, _: generate_next_snapshot(draw, state), initial=first)
    )
    held, expected = LocalState(first), first
    for before, after in pairwise(states):
        delta = compute_delta(before, after)
        held, expected = held.with_delta(delta), apply_deltas(expected, delta)
    assert held.snapshot() == expected


def test_earlier_state_is_unaffected_by_later_deltas_and_by_changes_of_the_delta() -> None:
    first = generate_snapshot(SeededDraw(0), 5, 20)
    delta = StateDelta(version=2)
    delta.removals.pods.append(first.pods[0].uid)
    before = LocalState(first)
    after = before.with_delta(delta)
    delta.Clear()
    assert len(after.snapshot().pods) == len(first.pods) - 1
    assert before.snapshot() == first
