"""The recorder: a decision never waits for the disk; lost records are counted and logged once."""

import logging
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tenure.server.records import FileRecorder, ResultEntry
from tenure.server.records import recorder as recorder_module
from tenure.server.records.recorder import WriteQueue
from tenure.server.records.writer import RecordWriter
from tenure.server.settings import RecordSettings
from tenure.server.shard import Shard
from tenure.server.state import State
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.records.recorded_cycles import (
    draw_snapshots,
    inline_cycle,
    push_states,
    recorder,
    rows,
    state_cycle,
)
from tests.server.telemetry.captured_telemetry import count_metrics


class DropCounter:
    """Number of dropped entries by reason, since the start of the test."""

    def __init__(self) -> None:
        count_metrics()
        self._seen: Counter[str] = Counter()

    def __getitem__(self, reason: str) -> int:
        self._seen.update(
            {reason: number for (_, reason), number in count_metrics("tenure_records_dropped").items()}
        )
        return self._seen[reason]


@pytest.fixture
def drop_counter() -> DropCounter:
    return DropCounter()


@pytest.fixture
def stuck_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Block writes until the event is set."""
    goes_on, write = threading.Event(), RecordWriter.write

    def slow(writer: RecordWriter, batch: object) -> object:
        assert goes_on.wait(30)
        return write(writer, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(RecordWriter, "write", slow)
    yield goes_on
    goes_on.set()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def outcome(number: int) -> ResultEntry:
    return ResultEntry(Shard("c", ""), str(number), "g", "bind", "applied", "", time.time_ns())


def test_all_recorded_cycles_are_in_the_file_after_close(tmp_path: Path) -> None:
    kept, states = recorder(tmp_path / "r"), push_states(draw_snapshots(1, 5, nodes=30, pods=300))
    for state in states:
        kept.record_cycle(state_cycle(state))
    kept.close(10)
    assert rows(tmp_path / "r", "SELECT version FROM records") == [(s.snapshot.version,) for s in states]
    assert rows(tmp_path / "r", "SELECT sum(form = 0) FROM states") == [(1,)]


def test_snapshot_of_a_state_is_requested_once(tmp_path: Path) -> None:
    kept, states, asked = recorder(tmp_path / "r"), push_states(draw_snapshots(1, 3, nodes=30, pods=300)), []

    def read(state: State) -> ClusterSnapshot:
        asked.append(state.snapshot.version)
        return state.snapshot

    for number, state in enumerate(states, 1):
        kept.record_cycle(state_cycle(state, with_snapshot=False), partial(read, state))
        wait_until(lambda number=number: rows(tmp_path / "r", "SELECT count(*) FROM records") == [(number,)])
    kept.close(10)
    assert asked == [states[0].snapshot.version]


def test_blocked_disk_does_not_delay_decisions(
    tmp_path: Path, stuck_disk: threading.Event, drop_counter: DropCounter
) -> None:
    kept = recorder(tmp_path / "r", backlog=WriteQueue(max_entries=5))
    for number in range(1_000):
        kept.record_results(outcome(number))
    assert drop_counter[recorder_module.BACKLOG] >= 1_000 - 2 * 5  # in the queue, and taken from it
    stuck_disk.set()
    kept.close(10)
    ((written,),) = rows(tmp_path / "r", "SELECT count(*) FROM outcomes")
    assert written + drop_counter[recorder_module.BACKLOG] == 1_000
    assert 5 <= written < 1_000


def test_write_queue_is_bounded_by_bytes_but_accepts_any_single_entry() -> None:
    backlog, cycle = WriteQueue(max_bytes=10_000), inline_cycle(*draw_snapshots(1, 1, nodes=30, pods=300))
    assert cycle.memory_bytes > 10_000
    assert backlog.offer(cycle)
    assert not backlog.offer(cycle)
    assert backlog.take() == [cycle]
    assert backlog.offer(outcome(1))


def test_dropped_snapshot_is_recorded_with_the_next_decision(
    tmp_path: Path, stuck_disk: threading.Event, drop_counter: DropCounter
) -> None:
    states = push_states(draw_snapshots(2, 3, nodes=30, pods=300))
    kept = recorder(tmp_path / "r", backlog=WriteQueue(max_entries=1))
    kept.record_results(outcome(0))
    wait_until(lambda: kept._queue.offer(outcome(1)))
    kept.record_cycle(state_cycle(states[0]))
    assert drop_counter[recorder_module.BACKLOG] == 1
    stuck_disk.set()
    wait_until(lambda: rows(tmp_path / "r", "SELECT count(*) FROM outcomes") == [(2,)])
    kept.record_cycle(state_cycle(states[1]))
    kept.close(10)
    assert rows(tmp_path / "r", "SELECT version FROM records") == [(states[1].snapshot.version,)]


@pytest.mark.parametrize("path", ["/proc/tenure/records.sqlite", "/dev/null/records.sqlite"])
def test_unwritable_path_loses_records_and_logs_once(
    path: str, drop_counter: DropCounter, caplog: pytest.LogCaptureFixture
) -> None:
    kept = recorder(Path(path), retry_seconds=0.0)
    for _ in range(3):
        kept.record_cycle(inline_cycle(*draw_snapshots(1, 1)))
    kept.close(10)
    assert not kept.is_recording
    assert drop_counter[recorder_module.DISK] == 3
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert path in caplog.text


def test_file_of_another_kind_is_not_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "r"
    file.write_text("the diary of somebody\n" * 100)
    kept = recorder(file)
    kept.record_cycle(inline_cycle(*draw_snapshots(1, 1)))
    kept.close(10)
    assert not kept.is_recording
    assert file.read_text() == "the diary of somebody\n" * 100
    assert "file is not a database" in caplog.text


def test_recovered_disk_is_used_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    kept = recorder(folder / "r", retry_seconds=0.0)
    assert not kept.is_recording
    folder.unlink()
    kept.record_cycle(inline_cycle(*draw_snapshots(1, 1)))
    wait_until(lambda: kept.is_recording)
    kept.close(10)
    assert rows(folder / "r", "SELECT count(*) FROM records") == [(1,)]
    assert "Recording decisions again" in caplog.text


def test_deleted_or_corrupt_file_loses_only_pending_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drop_counter: DropCounter
) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(3, 4, nodes=30, pods=300))
    kept = recorder(path, retry_seconds=0.0)
    kept.record_cycle(state_cycle(states[0]))
    wait_until(lambda: rows(path, "SELECT count(*) FROM records") == [(1,)])
    with monkeypatch.context() as broken:
        broken.setattr("tenure.server.records.writer.compress", lambda content: 1 / 0)
        kept.record_cycle(state_cycle(states[1]))
        wait_until(lambda: drop_counter[recorder_module.DISK] == 1)
    kept.record_cycle(state_cycle(states[2]))
    kept.close(10)
    versions = [(states[i].snapshot.version,) for i in (0, 2)]
    assert rows(path, "SELECT version FROM records") == versions


def test_file_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    kept = recorder(tmp_path / "folder" / "r")
    kept.record_cycle(inline_cycle(*draw_snapshots(1, 1)))
    wait_until(lambda: rows(tmp_path / "folder" / "r", "SELECT count(*) FROM records") == [(1,)])
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "folder").iterdir()}
    kept.close(10)
    assert modes.pop("r") == 0o600
    assert set(modes.values()) <= {0o600}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


def test_two_servers_can_write_one_file(tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(4, 6, nodes=30, pods=300))
    both = [recorder(path), recorder(path)]
    for i, state in enumerate(states):
        both[i % 2].record_cycle(state_cycle(state))
    for kept in both:
        kept.close(10)
    found = rows(path, "SELECT version FROM records ORDER BY version")
    assert found == [(state.snapshot.version,) for state in states]


def test_default_path_is_in_the_state_folder_of_the_platform() -> None:
    kept = FileRecorder(RecordSettings())
    kept.close(10)
    assert (Path(os.environ["XDG_STATE_HOME"]) / "tenure" / "records.sqlite").is_file()


@pytest.mark.parametrize("moved", [None, "old"])
def test_removed_or_moved_file_is_recreated(moved: str | None, tmp_path: Path) -> None:
    path, states = tmp_path / "r", push_states(draw_snapshots(5, 4, nodes=30, pods=300))
    kept = recorder(path)
    kept.record_cycle(state_cycle(states[0]))
    wait_until(lambda: rows(path, "SELECT count(*) FROM records") == [(1,)])
    if moved is None:
        path.unlink()
    else:
        path.rename(tmp_path / moved)
    for state in states[1:]:
        kept.record_cycle(state_cycle(state))
        wait_until(path.is_file)
    kept.close(10)
    later = [version for (version,) in rows(path, "SELECT version FROM records")]
    assert later[-1] == states[-1].snapshot.version
    if moved is not None:
        assert rows(tmp_path / moved, "SELECT version FROM records") == [(states[0].snapshot.version,)]


def test_foreign_database_is_not_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "r"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")
        other.commit()
    before = path.read_bytes()
    kept = recorder(path)
    assert not kept.is_recording
    kept.close(10)
    assert path.read_bytes() == before
    assert f"Cannot record decisions: {path}: is a database, but not a records file" in caplog.text


def test_user_without_home_loses_only_records(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", none)
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    kept = FileRecorder(RecordSettings())
    assert not kept.is_recording
    kept.close(10)
    assert "no home directory" in caplog.text


def test_excessive_maximum_age_retains_every_record(tmp_path: Path) -> None:
    kept = FileRecorder(RecordSettings(path=tmp_path / "r").model_copy(update={"max_age": 10**20}))
    kept.record_cycle(inline_cycle(*draw_snapshots(1, 1)))
    kept.close(10)
    assert kept.is_recording
    assert rows(tmp_path / "r", "SELECT count(*) FROM records") == [(1,)]
