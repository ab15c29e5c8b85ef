"""`tenure records` and `tenure replay` as processes: exit codes, tables, JSON."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tenure.server.records import ResultEntry
from tenure.server.records.writer import RecordWriter
from tenure.server.shard import Shard

from tests.attacks.overload.preference_flood import preference_flood
from tests.attacks.overload.test_shared_time import GANG, GANGS, NODES, CountedDeadline
from tests.server.records.recorded_cycles import (
    decide,
    draw_snapshots,
    inline_cycle,
    push_states,
    state_cycle,
    write_records,
)
from tests.small_snapshot import child_environment

OTHER = "plugins: {priority: false, elastic: false}\nactions: allocate\n"


def tenure(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tenure.cli", *arguments]
    env = child_environment(COLUMNS="80", **variables)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four records, with reported results."""
    path = tmp_path_factory.mktemp("kept") / "r"
    seen = draw_snapshots(2, 3, nodes=30, pods=300)
    write_records(path, [*map(state_cycle, push_states(seen)), inline_cycle(seen[0])])
    group = decide(seen[0]).parse().groups[0]
    with closing(RecordWriter(path)) as writer:
        step = group.decisions[0]
        writer.write([ResultEntry(Shard("made", "pool"), step.id, group.id, "bind", "applied", "", 1)])
    return path


def test_records_are_listed_as_a_table(path: Path) -> None:
    ended = tenure("records", str(path))
    assert ended.returncode == 0
    assert [line.split()[0] for line in ended.stdout.splitlines() if line.strip()[:1].isdigit()] == list(
        "1234"
    )
    assert "with request" in ended.stdout
    assert "1 applied" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


@pytest.mark.parametrize(("command", "says"), [("records", "1 applied"), ("replay", "3 records replayed")])
def test_corrupt_record_is_named_and_the_rest_is_used(
    command: str, says: str, path: Path, tmp_path: Path
) -> None:
    shutil.copy(path, tmp_path / "r")
    with closing(sqlite3.connect(tmp_path / "r")) as database:
        database.executescript("UPDATE records SET answer = x'00' WHERE id = 2")
    ended = tenure(command, str(tmp_path / "r"))
    assert says in ended.stdout
    assert "record 2 cannot be read: packed bytes are corrupt" in ended.stderr
    assert ended.returncode == 2


def test_records_are_listed_as_json(path: Path) -> None:
    ended = tenure("records", str(path), "--output", "json", "--limit", "2")
    (third, fourth) = json.loads(ended.stdout)
    assert [third["id"], fourth["id"]] == [3, 4]
    assert (third["epoch"], fourth["epoch"]) == ("e", "")
    assert fourth["cluster_id"] == "made"
    assert fourth["now"] == "2023-11-14T22:13:20Z"
    assert fourth["reported"] == {"applied": 1}
    assert fourth["steps"]["bind"] > 1


def test_the_help_names_every_key(path: Path) -> None:
    (record, *_) = json.loads(tenure("records", str(path), "--output", "json").stdout)
    help_text = tenure("records", "--help").stdout
    assert [key for key in record if key not in help_text] == []


def test_replay_reports_no_differences(path: Path) -> None:
    ended = tenure("replay", str(path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip() == "4 records replayed: all identical."


def test_replay_lists_differences_as_json(path: Path, tmp_path: Path) -> None:
    profile = tmp_path / "other.yaml"
    profile.write_text(OTHER)
    ended = tenure("replay", str(path), "--config", str(profile), "--output", "json", "--record", "1")
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    assert (document["replayed"], document["same"], document["different"]) == (1, 0, 1)
    (record,) = document["records"]
    assert {"kind": "missing", "decision_kind": "evict"}.items() <= {
        key: value
        for each in record["differences"]
        if each["decision_kind"] == "evict"
        for key, value in each.items()
    }.items()


def test_replay_lists_differences_as_a_table(path: Path, tmp_path: Path) -> None:
    profile = tmp_path / "other.yaml"
    profile.write_text(OTHER)
    ended = tenure("replay", str(path), "--config", str(profile), "--limit", "1")
    assert ended.returncode == 1
    assert "1 record replayed with the other configuration: 1 different." in ended.stdout
    assert "missing" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_record_that_stopped_early_is_marked(tmp_path: Path) -> None:
    (snapshot,) = draw_snapshots(2, 1)
    answer = decide(snapshot, lambda: True)
    assert answer.summary.stopped_early
    write_records(tmp_path / "r", [inline_cycle(snapshot, answer)])
    ended = tenure("replay", str(tmp_path / "r"))
    assert ended.returncode == 0
    assert "1 record stopped early: compared up to that point." in ended.stdout


def test_record_whose_order_depended_on_the_time_counts_as_not_compared(tmp_path: Path) -> None:
    snapshot = preference_flood(GANGS, NODES, GANG)
    answer = decide(snapshot, CountedDeadline(250))
    assert answer.parse().shared_time
    write_records(tmp_path / "r", [inline_cycle(snapshot, answer)])
    ended = tenure("replay", str(tmp_path / "r"))
    assert ended.returncode == 0
    assert "No record can be compared." in ended.stdout
    assert "1 record not compared: the order of the work depended on the time" in " ".join(
        ended.stdout.split()
    )
    document = json.loads(tenure("replay", str(tmp_path / "r"), "--output", "json").stdout)
    assert (document["same"], document["different"], document["not_compared"]) == (0, 0, 1)
    assert document["records"][0]["result"] == "not compared"


@pytest.mark.parametrize("command", ["records", "replay"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-file"], "no-file: no such records file"),
        ([__file__], "cannot be read as a records file: file is not a database"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_invalid_use_is_reported_without_traceback(command: str, arguments: list[str], says: str) -> None:
    ended = tenure(command, *arguments)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_missing_record_is_reported(path: Path) -> None:
    ended = tenure("replay", str(path), "--record", "9")
    assert ended.returncode == 2
    assert "unknown record 9; known: 1 to 4" in ended.stderr


def test_records_file_at_the_default_path_is_found(tmp_path: Path) -> None:
    (tmp_path / "tenure").mkdir()
    write_records(tmp_path / "tenure" / "records.sqlite", [inline_cycle(*draw_snapshots(1, 1))])
    assert len(json.loads(tenure("records", "--output", "json", XDG_STATE_HOME=str(tmp_path)).stdout)) == 1


def test_records_and_no_records_are_mutually_exclusive() -> None:
    ended = tenure("serve", "--records", "r", "--no-records")
    assert ended.returncode == 2
    assert "cannot be used with --no-records" in ended.stderr
