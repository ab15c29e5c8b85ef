"""Retention of records: the newest within age and size limits, each with its state."""

from contextlib import closing
from pathlib import Path

from tenure.server.records import RecordsFile, ResultEntry
from tenure.server.records.writer import RecordWriter, retain, used_bytes
from tenure.server.shard import Shard

from tests.server.records.recorded_cycles import draw_snapshots, inline_cycle, push_states, rows, state_cycle

HOUR = 3_600 * 10**9


def test_expired_records_are_deleted_with_their_states_and_results(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", draw_snapshots(1, 6)
    with closing(RecordWriter(path)) as writer:
        for hour, snapshot in enumerate(seen):
            snapshot.cluster_id = f"c{hour}"
            writer.write([inline_cycle(snapshot)._replace(recorded_at=hour * HOUR)])
            outcome = ResultEntry(Shard("c", ""), str(hour), "g", "evict", "applied", "", hour * HOUR)
            writer.write([outcome])
        assert retain(writer.database, 4 * HOUR, 2**40) == 4
    assert rows(path, "SELECT cluster_id FROM records") == [("c4",), ("c5",)]
    assert rows(path, "SELECT count(*) FROM states") == [(2,)]
    assert rows(path, "SELECT decision_id FROM outcomes") == [("4",), ("5",)]


def test_base_state_is_retained_while_a_record_depends_on_it(tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(2, 8, nodes=30, pods=300))
    with closing(RecordWriter(path)) as writer:
        for hour, state in enumerate(states):
            writer.write([state_cycle(state)._replace(recorded_at=hour * HOUR)])
        retain(writer.database, 7 * HOUR, 2**40)
    with RecordsFile(path) as kept:
        (record,) = kept.records()
        assert kept.snapshot(record) == states[7].snapshot


def test_file_stays_below_its_limit_and_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with closing(RecordWriter(path)) as writer:
        for seed in range(20):
            (snapshot,) = draw_snapshots(seed, 1, nodes=10, pods=100)
            snapshot.cluster_id = f"c{seed}"
            writer.write([inline_cycle(snapshot)])
        limit = used_bytes(writer.database) // 2
        assert retain(writer.database, 0, limit) > 0
        assert 0 < used_bytes(writer.database) <= limit
        writer.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert path.stat().st_size <= limit
    left = [int(name.removeprefix("c")) for (name,) in rows(path, "SELECT cluster_id FROM records")]
    assert left == list(range(20 - len(left), 20))


def test_limit_smaller_than_any_record_deletes_all(tmp_path: Path) -> None:
    with closing(RecordWriter(tmp_path / "r")) as writer:
        writer.write([inline_cycle(*draw_snapshots(1, 1))])
        assert retain(writer.database, 0, 1) == 1
    assert rows(tmp_path / "r", "SELECT count(*) FROM states") == [(0,)]


def test_no_dangling_references_remain(tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(3, 8, nodes=30, pods=300))
    with closing(RecordWriter(path)) as writer:
        for i, state in enumerate(states):
            writer.write([state_cycle(state)._replace(recorded_at=i * HOUR), inline_cycle(state.snapshot)])
        retain(writer.database, 5 * HOUR, 2**40)
        assert writer.database.execute("PRAGMA foreign_key_check").fetchall() == []
