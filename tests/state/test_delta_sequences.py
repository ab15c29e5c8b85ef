"""Random sequences of deltas lead to the expected snapshot; gaps, replays and other errors change nothing."""

import pytest

from tests.state.delta_walk import run_walk

SEQUENCES, CHUNKS = 200, 8


@pytest.mark.parametrize(
    "chunk", [pytest.param(chunk, marks=() if chunk < 2 else pytest.mark.long) for chunk in range(CHUNKS)]
)
def test_deltas_build_the_snapshot_and_invalid_ones_change_nothing(chunk: int) -> None:
    for seed in range(chunk, SEQUENCES, CHUNKS):
        run_walk(seed)
