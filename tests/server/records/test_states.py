"""States in the file: stored once, compact when similar to another one, and identical when restored."""

from contextlib import closing
from pathlib import Path

import pytest
from tenure.server.records import RecordsFile
from tenure.server.records.states import StateFormat
from tenure.server.records.writer import RecordWriter
from tenure.server.state.lineage import MAX_DELTAS, new_lineage
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.records.recorded_cycles import (
    draw_snapshots,
    inline_cycle,
    push_states,
    rows,
    state_cycle,
    write_records,
)


def read(path: Path) -> list[ClusterSnapshot]:
    with RecordsFile(path) as kept:
        return [kept.snapshot(record) for record in kept.records()]


def forms(path: Path) -> list[StateFormat]:
    return [StateFormat(form) for (form,) in rows(path, "SELECT form FROM states ORDER BY rowid")]


def test_repeated_snapshot_is_stored_once(tmp_path: Path) -> None:
    path, (snapshot,) = tmp_path / "r", draw_snapshots(1, 1)
    write_records(path, [inline_cycle(snapshot)] * 3)
    assert forms(path) == [StateFormat.FULL]
    assert read(path) == [snapshot] * 3


def test_similar_snapshot_is_stored_as_a_delta(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", draw_snapshots(2, 4, nodes=50, pods=400)
    write_records(path, [inline_cycle(snapshot) for snapshot in seen])
    assert forms(path) == [StateFormat.FULL, StateFormat.PATCH, StateFormat.PATCH, StateFormat.PATCH]
    assert read(path) == seen
    sizes = [size for (size,) in rows(path, "SELECT length(body) FROM states ORDER BY rowid")]
    assert max(sizes[1:]) * 10 < sizes[0]


@pytest.mark.parametrize("seed", range(5))
def test_chain_of_deltas_is_rebuilt(seed: int, tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(seed, 12, nodes=30, pods=300))
    write_records(path, [state_cycle(state, with_snapshot=not i) for i, state in enumerate(states)])
    assert forms(path) == [StateFormat.FULL] + [StateFormat.DELTA] * 11
    assert read(path) == [state.snapshot for state in states]


def test_states_between_recorded_cycles_are_rebuilt(tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(3, 9, nodes=30, pods=300))
    write_records(
        path,
        [state_cycle(states[0]), state_cycle(states[4], with_snapshot=False), state_cycle(states[8], False)],
    )
    assert read(path) == [states[i].snapshot for i in (0, 4, 8)]


def test_records_are_readable_in_any_order(tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(4, 6, nodes=30, pods=300))
    write_records(path, [state_cycle(state) for state in states])
    with RecordsFile(path) as kept:
        for number in (4, 2, 6, 1, 5):
            record = kept.record(number)
            assert record is not None
            assert kept.snapshot(record) == states[number - 1].snapshot


def test_long_delta_chain_restarts_with_a_full_state(tmp_path: Path) -> None:
    lineage = new_lineage()
    for _ in range(MAX_DELTAS):
        lineage = lineage.with_delta(b"delta", 10**6)
    assert len(lineage.deltas) == MAX_DELTAS
    after = lineage.with_delta(b"delta", 10**6)
    assert after.base != lineage.base
    assert after.deltas == ()


def test_deltas_as_large_as_the_state_restart_the_chain() -> None:
    lineage = new_lineage()
    assert lineage.with_delta(b"x" * 24, 100).deltas == (b"x" * 24,)
    assert lineage.with_delta(b"x" * 26, 100).deltas == ()


def test_state_without_base_is_requested_in_full(tmp_path: Path) -> None:
    states = push_states(draw_snapshots(5, 4, nodes=30, pods=300))
    with closing(RecordWriter(tmp_path / "r")) as writer:
        assert writer.write([state_cycle(states[0]), state_cycle(states[1], False)]) == []
        writer.database.execute("DELETE FROM records")
        writer.database.execute("DELETE FROM states")
        bare = state_cycle(states[2], with_snapshot=False)
        assert writer.write([bare]) == [bare]
        assert writer.write([state_cycle(states[2]), state_cycle(states[3], False)]) == []
    assert read(tmp_path / "r") == [states[2].snapshot, states[3].snapshot]
