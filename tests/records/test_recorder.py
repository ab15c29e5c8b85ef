"""The recorder: a decision never waits for the disk, and what is lost is counted and said once."""

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
from tenure.server.records import FileRecorder, Outcome, counters
from tenure.server.records.backlog import Backlog
from tenure.server.records.writing import Writer
from tenure.server.settings import RecordSettings
from tenure.server.shard import Shard
from tenure.server.state import State
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.records.kept import inline, pushed, recorder, referred, rows, run
from tests.server.recorded import counted


class Dropped:
    """How many entries were dropped, by reason, since the test began."""

    def __init__(self) -> None:
        counted()
        self._seen: Counter[str] = Counter()

    def __getitem__(self, reason: str) -> int:
        self._seen.update(
            {reason: number for (_, reason), number in counted("tenure_records_dropped").items()}
        )
        return self._seen[reason]


@pytest.fixture
def dropped() -> Dropped:
    return Dropped()


@pytest.fixture
def stuck_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is written until the event is set."""
    goes_on, write = threading.Event(), Writer.write

    def slow(writer: Writer, batch: object) -> object:
        assert goes_on.wait(30)
        return write(writer, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "write", slow)
    yield goes_on
    goes_on.set()


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def outcome(number: int) -> Outcome:
    return Outcome(Shard("c", ""), str(number), "g", "bind", "applied", "", time.time_ns())


def test_what_is_decided_is_in_the_file_at_the_end(tmp_path: Path) -> None:
    kept, states = recorder(tmp_path / "r"), pushed(run(1, 5, nodes=30, pods=300))
    for state in states:
        kept.decided(referred(state))
    kept.close(10)
    assert rows(tmp_path / "r", "SELECT version FROM records") == [(s.snapshot.version,) for s in states]
    assert rows(tmp_path / "r", "SELECT sum(form = 0) FROM states") == [(1,)]


def test_the_snapshot_of_a_state_is_asked_for_once_however_often_the_file_was_written(tmp_path: Path) -> None:
    kept, states, asked = recorder(tmp_path / "r"), pushed(run(1, 3, nodes=30, pods=300)), []

    def read(state: State) -> ClusterSnapshot:
        asked.append(state.snapshot.version)
        return state.snapshot

    for number, state in enumerate(states, 1):
        kept.decided(referred(state, with_snapshot=False), partial(read, state))
        eventually(lambda number=number: rows(tmp_path / "r", "SELECT count(*) FROM records") == [(number,)])
    kept.close(10)
    assert asked == [states[0].snapshot.version]


def test_who_decides_does_not_wait_for_a_disk_that_is_stuck(
    tmp_path: Path, stuck_disk: threading.Event, dropped: Dropped
) -> None:
    kept = recorder(tmp_path / "r", backlog=Backlog(max_entries=5))
    begin = time.monotonic()
    for number in range(1_000):
        kept.reported(outcome(number))
    assert time.monotonic() - begin < 1
    stuck_disk.set()
    kept.close(10)
    ((written,),) = rows(tmp_path / "r", "SELECT count(*) FROM outcomes")
    assert written + dropped[counters.BACKLOG] == 1_000
    assert 5 <= written < 1_000


def test_the_backlog_is_bounded_by_bytes_but_takes_any_single_entry() -> None:
    backlog, cycle = Backlog(max_bytes=10_000), inline(*run(1, 1, nodes=30, pods=300))
    assert cycle.weight > 10_000
    assert backlog.offer(cycle)
    assert not backlog.offer(cycle)
    assert backlog.take() == [cycle]
    assert backlog.offer(outcome(1))


def test_a_snapshot_that_was_dropped_comes_with_the_next_decision(
    tmp_path: Path, stuck_disk: threading.Event, dropped: Dropped
) -> None:
    states = pushed(run(2, 3, nodes=30, pods=300))
    kept = recorder(tmp_path / "r", backlog=Backlog(max_entries=1))
    kept.reported(outcome(0))
    eventually(lambda: kept._backlog.offer(outcome(1)))
    kept.decided(referred(states[0]))
    assert dropped[counters.BACKLOG] == 1
    stuck_disk.set()
    eventually(lambda: rows(tmp_path / "r", "SELECT count(*) FROM outcomes") == [(2,)])
    kept.decided(referred(states[1]))
    kept.close(10)
    assert rows(tmp_path / "r", "SELECT version FROM records") == [(states[1].snapshot.version,)]


@pytest.mark.parametrize("path", ["/proc/tenure/records.sqlite", "/dev/null/records.sqlite"])
def test_a_place_where_nothing_can_be_written_costs_records_and_one_line(
    path: str, dropped: Dropped, caplog: pytest.LogCaptureFixture
) -> None:
    kept = recorder(Path(path), retry_seconds=0.0)
    for _ in range(3):
        kept.decided(inline(*run(1, 1)))
    kept.close(10)
    assert not kept.is_recording
    assert dropped[counters.DISK] == 3
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert path in caplog.text


def test_a_file_that_is_something_else_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "r"
    file.write_text("the diary of somebody\n" * 100)
    kept = recorder(file)
    kept.decided(inline(*run(1, 1)))
    kept.close(10)
    assert not kept.is_recording
    assert file.read_text() == "the diary of somebody\n" * 100
    assert "file is not a database" in caplog.text


def test_a_disk_that_recovers_is_used_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    kept = recorder(folder / "r", retry_seconds=0.0)
    assert not kept.is_recording
    folder.unlink()
    kept.decided(inline(*run(1, 1)))
    eventually(lambda: kept.is_recording)
    kept.close(10)
    assert rows(folder / "r", "SELECT count(*) FROM records") == [(1,)]
    assert "recorded again" in caplog.text


def test_a_file_that_vanishes_or_breaks_costs_what_is_on_its_way_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropped: Dropped
) -> None:
    path, states = tmp_path / "r", pushed(run(3, 4, nodes=30, pods=300))
    kept = recorder(path, retry_seconds=0.0)
    kept.decided(referred(states[0]))
    eventually(lambda: rows(path, "SELECT count(*) FROM records") == [(1,)])
    with monkeypatch.context() as broken:
        broken.setattr("tenure.server.records.writing.pack", lambda content: 1 / 0)
        kept.decided(referred(states[1]))
        eventually(lambda: dropped[counters.DISK] == 1)
    kept.decided(referred(states[2]))
    kept.close(10)
    versions = [(states[i].snapshot.version,) for i in (0, 2)]
    assert rows(path, "SELECT version FROM records") == versions


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    kept = recorder(tmp_path / "folder" / "r")
    kept.decided(inline(*run(1, 1)))
    eventually(lambda: rows(tmp_path / "folder" / "r", "SELECT count(*) FROM records") == [(1,)])
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "folder").iterdir()}
    kept.close(10)
    assert modes.pop("r") == 0o600
    assert set(modes.values()) <= {0o600}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


def test_two_servers_may_keep_one_file(tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(4, 6, nodes=30, pods=300))
    both = [recorder(path), recorder(path)]
    for i, state in enumerate(states):
        both[i % 2].decided(referred(state))
    for kept in both:
        kept.close(10)
    found = rows(path, "SELECT version FROM records ORDER BY version")
    assert found == [(state.snapshot.version,) for state in states]


def test_records_are_kept_where_the_platform_keeps_state() -> None:
    kept = FileRecorder(RecordSettings())
    kept.close(10)
    assert (Path(os.environ["XDG_STATE_HOME"]) / "tenure" / "records.sqlite").is_file()


@pytest.mark.parametrize("moved", [None, "old"])
def test_a_file_that_is_removed_or_moved_is_begun_anew(moved: str | None, tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(5, 4, nodes=30, pods=300))
    kept = recorder(path)
    kept.decided(referred(states[0]))
    eventually(lambda: rows(path, "SELECT count(*) FROM records") == [(1,)])
    if moved is None:
        path.unlink()
    else:
        path.rename(tmp_path / moved)
    for state in states[1:]:
        kept.decided(referred(state))
        eventually(path.is_file)
    kept.close(10)
    later = [version for (version,) in rows(path, "SELECT version FROM records")]
    assert later[-1] == states[-1].snapshot.version
    if moved is not None:
        assert rows(tmp_path / moved, "SELECT version FROM records") == [(states[0].snapshot.version,)]


def test_a_database_of_somebody_else_is_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")
        other.commit()
    before = path.read_bytes()
    kept = recorder(path)
    assert not kept.is_recording
    kept.close(10)
    assert path.read_bytes() == before
    assert f"not recorded: {path}: is a database, but not one of records" in caplog.text


def test_a_user_without_a_home_costs_records_only(
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
    assert "this user has no home" in caplog.text


def test_an_age_beyond_all_clocks_keeps_everything(tmp_path: Path) -> None:
    kept = FileRecorder(RecordSettings(path=tmp_path / "r").model_copy(update={"max_age": 10**20}))
    kept.decided(inline(*run(1, 1)))
    kept.close(10)
    assert kept.is_recording
    assert rows(tmp_path / "r", "SELECT count(*) FROM records") == [(1,)]
