"""What a caller records and reports without end displaces nothing that others recorded and reported."""

from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from tenure.server.records import ResultEntry
from tenure.server.records.recorder import WriteQueue
from tenure.server.records.writer import RecordWriter, retain, used_bytes
from tenure.server.reports import ReportConflict, ReportHistory
from tenure.server.shard import Shard
from tenure.v1 import report_pb2 as pb
from tenure.v1.decision_pb2 import Decision, DecisionGroup

from tests.server.records.recorded_cycles import draw_snapshots, inline_cycle, rows

HONEST: Final = Shard("honest", "")
HOSTILE: Final = Shard("hostile", "")


def result(shard: Shard, number: int, detail: str = "") -> ResultEntry:
    caller = f"token:{shard.cluster_id}"
    return ResultEntry(shard, f"d{number}", "g", "evict", "failed", detail, 1 + number, caller)


def write_cycle(writer: RecordWriter, shard: Shard, seed: int, pods: int = 100) -> None:
    (snapshot,) = draw_snapshots(seed, 1, nodes=10, pods=pods)
    snapshot.cluster_id = shard.cluster_id
    writer.write([inline_cycle(snapshot)._replace(caller=f"token:{shard.cluster_id}", recorded_at=1)])


def test_results_without_end_displace_no_record_and_fill_no_disk(tmp_path: Path) -> None:
    """Results are kept as long as records. Dropping records alone would drop all of them, and not suffice."""
    path = tmp_path / "r"
    with closing(RecordWriter(path)) as writer:
        write_cycle(writer, HONEST, seed=1)
        writer.write([result(HONEST, 0)])
        limit = 2 * used_bytes(writer.database)
        for start in range(0, 2_000, 100):
            writer.write([result(HOSTILE, start + number, "x" * 4_000) for number in range(100)])
            retain(writer.database, 0, limit)
            assert used_bytes(writer.database) <= limit
    assert rows(path, "SELECT cluster_id FROM records") == [("honest",)]
    assert rows(path, "SELECT decision_id FROM outcomes WHERE cluster_id = 'honest'") == [("d0",)]
    (newest,) = rows(path, "SELECT max(reported_at) FROM outcomes")
    assert newest == (2_000,)


def test_records_without_end_displace_no_record_of_others(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with closing(RecordWriter(path)) as writer:
        write_cycle(writer, HONEST, seed=1)
        limit = used_bytes(writer.database) * 3 // 2
        for seed in range(2, 30):
            write_cycle(writer, HOSTILE, seed)
            retain(writer.database, 0, limit)
        assert used_bytes(writer.database) <= limit
    clusters = [name for (name,) in rows(path, "SELECT cluster_id FROM records ORDER BY id")]
    assert clusters[0] == "honest"
    assert set(clusters[1:]) == {"hostile"}


def test_backlog_of_one_caller_drops_no_entries_of_others() -> None:
    queue = WriteQueue(max_entries=100)
    assert all(queue.offer(result(HOSTILE, number)) for number in range(100))
    assert not queue.offer(result(HOSTILE, 100))
    honest = [result(HONEST, number) for number in range(50)]
    assert all(queue.offer(entry) for entry in honest)
    queue.offer(result(HOSTILE, 101))
    queue.close()
    written = []
    while batch := queue.take():
        written += batch
    assert [entry for entry in written if entry.shard == HONEST] == honest
    assert [entry.decision_id for entry in written if entry.shard == HOSTILE] == [f"d{i}" for i in range(50)]


def report(*decisions: str, status: pb.ApplyStatus = pb.APPLY_STATUS_APPLIED) -> pb.GroupReport:
    made = pb.GroupReport(group=DecisionGroup(id="g", decisions=[Decision(id=name) for name in decisions]))
    for name in decisions:
        made.results.add(decision_id=name, status=status)
    return made


def test_reports_without_end_do_not_let_a_conflict_of_others_pass() -> None:
    """Otherwise a forged result would count beside the true one."""
    history = ReportHistory(max_results=1_000)
    history.add(HONEST, report(*(f"d{number}" for number in range(100))))
    for start in range(0, 10_000, 500):
        history.add(HOSTILE, report(*(f"d{start + number}" for number in range(500))))
    for number in range(100):
        with pytest.raises(ReportConflict):
            history.add(HONEST, report(f"d{number}", status=pb.APPLY_STATUS_PRECONDITION_FAILED))
    assert history.add(HOSTILE, report("d0"))
