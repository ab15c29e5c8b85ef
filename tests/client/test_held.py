"""A session that puts deltas off holds what it would hold if it carried out each at once."""

from itertools import accumulate, pairwise

import pytest
from tenure.client.deltas import applied, difference
from tenure.client.held import MOST, Held
from tenure.v1.state_pb2 import StateDelta

from tests.properties.draw import SeededDraw
from tests.states.made import later_snapshot, made_snapshot


@pytest.mark.parametrize("number", [1, 7, MOST, MOST + 1, 2 * MOST + 3])
def test_the_result_is_that_of_one_delta_after_the_other(number: int) -> None:
    draw = SeededDraw(number)
    first = made_snapshot(draw, 5, 20)
    states = list(accumulate(range(number), lambda state, _: later_snapshot(draw, state), initial=first))
    held, expected = Held(first), first
    for before, after in pairwise(states):
        delta = difference(before, after)
        held, expected = held.after(delta), applied(expected, delta)
    assert held.snapshot() == expected


def test_a_state_stays_as_it_is_whatever_comes_after_it_and_whatever_becomes_of_the_delta() -> None:
    first = made_snapshot(SeededDraw(0), 5, 20)
    delta = StateDelta(version=2)
    delta.removes.pods.append(first.pods[0].uid)
    before = Held(first)
    after = before.after(delta)
    delta.Clear()
    assert len(after.snapshot().pods) == len(first.pods) - 1
    assert before.snapshot() == first
