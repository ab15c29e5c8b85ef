"""Which records stay: the young ones, as many as there is room for, and never one without its state."""

from contextlib import closing
from pathlib import Path

from tenure.server.records import Outcome, RecordsFile
from tenure.server.records.retention import retain, used_bytes
from tenure.server.records.writing import Writer
from tenure.server.shard import Shard

from tests.records.kept import inline, pushed, referred, rows, run

HOUR = 3_600 * 10**9


def test_records_that_are_too_old_go_first_with_what_only_they_need(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", run(1, 6)
    with closing(Writer(path)) as writer:
        for hour, snapshot in enumerate(seen):
            snapshot.cluster_id = f"c{hour}"
            writer.write([inline(snapshot)._replace(recorded_at=hour * HOUR)])
            outcome = Outcome(Shard("c", ""), str(hour), "g", "evict", "applied", "", hour * HOUR)
            writer.write([outcome])
        assert retain(writer.database, 4 * HOUR, 2**40) == 4
    assert rows(path, "SELECT cluster_id FROM records") == [("c4",), ("c5",)]
    assert rows(path, "SELECT count(*) FROM states") == [(2,)]
    assert rows(path, "SELECT decision_id FROM outcomes") == [("4",), ("5",)]


def test_a_base_stays_as_long_as_any_record_is_made_of_it(tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(2, 8, nodes=30, pods=300))
    with closing(Writer(path)) as writer:
        for hour, state in enumerate(states):
            writer.write([referred(state)._replace(recorded_at=hour * HOUR)])
        retain(writer.database, 7 * HOUR, 2**40)
    with RecordsFile(path) as kept:
        (record,) = kept.records()
        assert kept.snapshot(record) == states[7].snapshot


def test_the_file_stays_below_its_limit_and_gives_room_back(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with closing(Writer(path)) as writer:
        for seed in range(20):
            (snapshot,) = run(seed, 1, nodes=10, pods=100)
            snapshot.cluster_id = f"c{seed}"
            writer.write([inline(snapshot)])
        limit = used_bytes(writer.database) // 2
        assert retain(writer.database, 0, limit) > 0
        assert 0 < used_bytes(writer.database) <= limit
        writer.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert path.stat().st_size <= limit
    left = [int(name.removeprefix("c")) for (name,) in rows(path, "SELECT cluster_id FROM records")]
    assert left == list(range(20 - len(left), 20))


def test_a_limit_that_no_record_fits_in_leaves_none(tmp_path: Path) -> None:
    with closing(Writer(tmp_path / "r")) as writer:
        writer.write([inline(*run(1, 1))])
        assert retain(writer.database, 0, 1) == 1
    assert rows(tmp_path / "r", "SELECT count(*) FROM states") == [(0,)]


def test_nothing_refers_to_what_is_not_there(tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(3, 8, nodes=30, pods=300))
    with closing(Writer(path)) as writer:
        for i, state in enumerate(states):
            writer.write([referred(state)._replace(recorded_at=i * HOUR), inline(state.snapshot)])
        retain(writer.database, 5 * HOUR, 2**40)
        assert writer.database.execute("PRAGMA foreign_key_check").fetchall() == []
