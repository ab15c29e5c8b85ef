"""Random sequences of deltas: what they build is the snapshot; gaps, replays and the like change nothing."""

import pytest

from tests.states.walk import walk

SEQUENCES, CHUNKS = 400, 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_state_built_by_deltas_is_the_snapshot_and_bad_ones_never_change_it(chunk: int) -> None:
    for seed in range(chunk, SEQUENCES, CHUNKS):
        walk(seed)
