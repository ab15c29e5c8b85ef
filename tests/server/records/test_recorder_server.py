"""Records of a real server over a socket: kill -9 loses none, and queries write none."""

import resource
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from tenure.client import Client, InvalidSnapshot, StateMismatch, StateSession
from tenure.server.records import RecordsFile
from tenure.server.records.replay import replay
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateReference

from tests.server.records.recorded_cycles import draw_snapshots, recorder, rows
from tests.server.servers import run_server, run_server_process

MOST_BYTES = 200_000


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def count(path: Path) -> int:
    ((number,),) = rows(path, "SELECT count(*) FROM records")
    return int(number)


def read(path: Path) -> list[DecideResponse]:
    with RecordsFile(path) as kept:
        return [record.response for record in kept.records()]


def decide_in_sequence(client: Client, seen: list[ClusterSnapshot]) -> list[DecideResponse]:
    """Push the first snapshot, then deltas to the others."""
    session = StateSession(client)
    session.push(seen[0])
    answers = [session.decide()]
    for snapshot in seen[1:]:
        session.update(snapshot)
        answers.append(session.decide())
    return answers


def files(folder: Path) -> dict[str, bytes]:
    """Return all record files, without the index of the write-ahead log."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}


def test_killed_server_leaves_its_written_records_and_replay_is_equal(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", draw_snapshots(1, 8, nodes=20, pods=200)
    with run_server_process("--records", str(path)) as (process, address), Client(address) as client:
        assert client.get_capabilities().recording_enabled
        answers = decide_in_sequence(client, seen)
        answers.append(client.decide(seen[-1], ["allocate"]))
        wait_until(lambda: count(path) == len(answers))
        process.kill()
    assert read(path) == answers
    with RecordsFile(path) as kept:
        assert [replay(kept, record).differences for record in kept.records()] == [[]] * len(answers)
        assert [bool(record.epoch) for record in kept.records()] == [True] * 8 + [False]


@pytest.mark.long
@pytest.mark.parametrize("after", [0.0, 0.01])
def test_file_is_readable_and_writable_after_a_kill_at_any_time(after: float, tmp_path: Path) -> None:
    path, seen, file = tmp_path / "r", draw_snapshots(2, 6), tmp_path / "c.yaml"
    file.write_text(f"records: {{path: {path}}}")
    for _ in range(2):
        with run_server_process("--config", str(file)) as (process, address), Client(address) as client:
            decide_in_sequence(client, seen)
            time.sleep(after)
            process.kill()
        with RecordsFile(path) as kept:
            for record in kept.records():
                assert replay(kept, record).differences == []


def test_stopped_server_writes_all_records(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", draw_snapshots(3, 10)
    with run_server_process("--records", str(path)) as (process, address), Client(address) as client:
        for snapshot in seen:
            client.decide(snapshot)
        process.terminate()
        assert process.wait(20) == 0
    assert count(path) == 10


def test_simulate_and_explain_leave_records_unchanged(tmp_path: Path) -> None:
    path, (snapshot,) = tmp_path / "r", draw_snapshots(4, 1)
    kept = recorder(path)
    with run_server(recorder=kept) as (_, address), Client(address) as client:
        client.decide(snapshot)
        wait_until(lambda: count(path) == 1)
        before = {
            file.name: file.read_bytes() for file in sorted(tmp_path.iterdir()) if "shm" not in file.name
        }
        client.simulate(SimulateRequest(snapshot=snapshot, cycles=3))
        client.explain(ExplainRequest(snapshot=snapshot, why_pending={"pod_group": "wide"}))
        reference = client.put_snapshot("e", snapshot)
        client.simulate(SimulateRequest(state=reference))
        after = {
            file.name: file.read_bytes() for file in sorted(tmp_path.iterdir()) if "shm" not in file.name
        }
        assert after == before


def test_failed_call_is_not_recorded(tmp_path: Path) -> None:
    kept = recorder(tmp_path / "r")
    with run_server(recorder=kept) as (_, address), Client(address) as client:
        (snapshot,) = draw_snapshots(5, 1)
        snapshot.queues[0].parent = "nobody"
        with pytest.raises(InvalidSnapshot):
            client.decide(snapshot)
        with pytest.raises(StateMismatch):
            client.decide_state(StateReference(cluster_id="made", epoch="e", version=1))
    assert count(tmp_path / "r") == 0


def test_the_trace_of_the_caller_is_recorded(tmp_path: Path) -> None:
    kept, trace = recorder(tmp_path / "r"), "0af7651916cd43dd8448eb211c80319c"
    with run_server(recorder=kept) as (_, address), closing(grpc.insecure_channel(address)) as channel:
        metadata = [("traceparent", f"00-{trace}-b7ad6b7169203331-01")]
        stub = DecisionServiceStub(channel)  # type: ignore[no-untyped-call]
        stub.Decide(DecideRequest(snapshot=draw_snapshots(6, 1)[0]), metadata=metadata, timeout=20)
    assert rows(tmp_path / "r", "SELECT trace_id FROM records") == [(trace,)]


def test_server_without_records_reports_recording_disabled(tmp_path: Path) -> None:
    with run_server() as (_, address), Client(address) as client:
        assert not client.get_capabilities().recording_enabled
    with run_server_process("--records", "/proc/r") as (_, address), Client(address) as client:
        assert not client.get_capabilities().recording_enabled
        assert client.decide(draw_snapshots(7, 1)[0]).outcomes


@pytest.mark.long
def test_full_disk_loses_records_and_no_decision(tmp_path: Path) -> None:
    """F23: a limit on the size of files of the process acts like a full disk."""
    path, seen, answered = tmp_path / "r", draw_snapshots(8, 3, nodes=60, pods=600), 0
    with run_server_process("--records", str(path)) as (process, address), Client(address) as client:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
        while client.get_capabilities().recording_enabled:
            for snapshot in seen:
                snapshot.cluster_id = f"c{answered}"
                assert client.decide(snapshot).outcomes
                answered += 1
        assert client.decide(seen[0]).outcomes
        process.terminate()
        _, log = process.communicate(timeout=20)
        assert process.returncode == 0
    assert log.count("Cannot record decisions") == 1
    assert "Traceback" not in log
    assert path.stat().st_size <= MOST_BYTES
    assert len(read(path)) <= answered
