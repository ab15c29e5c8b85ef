"""Decisions under relations, played on in a closed cluster: whatever was promised arrives."""

import pytest

from tests.properties.relations.played_clusters import judge

ONCE_WRONG = (989, 1297, 2123, 3613, 4157, 9864, 13511, 14389, 56369)
"""A free slot was bound to a later group; a reservation was used by two pods, or by one pod twice; a pod
counted twice; a decision made an earlier one wait; a gang was reserved where it could have been bound;
a reservation of a gang was cancelled while other pods of it were moved.
"""


@pytest.mark.parametrize("seed", [*range(24), *ONCE_WRONG])
def test_every_promise_arrives_and_nothing_leaves_in_vain_r3_74(seed: int) -> None:
    assert [what for what in judge(seed) if what.startswith("seed")] == []
