"""`tenure records` and `tenure replay` as processes: exit codes, tables, JSON."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tenure.server.records import Outcome
from tenure.server.records.writing import Writer
from tenure.server.shard import Shard

from tests.records.kept import decided, inline, pushed, referred, run, written
from tests.server.given import environment

OTHER = "tiers: [{plugins: [{name: predicates}, {name: proportion}]}]\nactions: allocate\n"


def tenure(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tenure.server", *arguments]
    env = environment(COLUMNS="80", **variables)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four records, of which somebody reported."""
    path = tmp_path_factory.mktemp("kept") / "r"
    seen = run(2, 3, nodes=30, pods=300)
    written(path, [*map(referred, pushed(seen)), inline(seen[0])])
    group = decided(seen[0]).groups[0]
    with closing(Writer(path)) as writer:
        step = group.decisions[0]
        writer.write([Outcome(Shard("made", "pool"), step.id, group.id, "bind", "applied", "", 1)])
    return path


def test_records_are_listed_for_people(path: Path) -> None:
    ended = tenure("records", str(path))
    assert ended.returncode == 0
    assert [line.split()[0] for line in ended.stdout.splitlines() if line.strip()[:1].isdigit()] == list(
        "1234"
    )
    assert "with request" in ended.stdout
    assert "1 applied" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("command", "says"), [("records", "1 applied"), ("replay", "3 records decided again")]
)
def test_a_damaged_record_is_named_and_the_others_are_used(
    command: str, says: str, path: Path, tmp_path: Path
) -> None:
    shutil.copy(path, tmp_path / "r")
    with closing(sqlite3.connect(tmp_path / "r")) as database:
        database.executescript("UPDATE records SET answer = x'00' WHERE id = 2")
    ended = tenure(command, str(tmp_path / "r"))
    assert says in ended.stdout
    assert "record 2 cannot be read: packed bytes are damaged" in ended.stderr
    assert ended.returncode == 2


def test_records_are_listed_for_programs(path: Path) -> None:
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
    said = tenure("records", "--help").stdout
    assert [key for key in record if key not in said] == []


def test_replay_says_that_all_is_the_same(path: Path) -> None:
    ended = tenure("replay", str(path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip() == "4 records decided again: all the same."


def test_replay_tells_programs_what_differs(path: Path, tmp_path: Path) -> None:
    profile = tmp_path / "other.yaml"
    profile.write_text(OTHER)
    ended = tenure("replay", str(path), "--profile", str(profile), "--output", "json", "--record", "1")
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    assert (document["replayed"], document["same"], document["different"]) == (1, 0, 1)
    (record,) = document["records"]
    assert {"kind": "missing", "step": "evict"}.items() <= {
        key: value for each in record["differences"] if each["step"] == "evict" for key, value in each.items()
    }.items()


def test_replay_shows_people_what_differs(path: Path, tmp_path: Path) -> None:
    profile = tmp_path / "other.yaml"
    profile.write_text(OTHER)
    ended = tenure("replay", str(path), "--profile", str(profile), "--limit", "1")
    assert ended.returncode == 1
    assert "1 record decided by the other configuration: 1 not the same." in ended.stdout
    assert "missing" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_a_record_that_was_stopped_early_is_said_to_be(tmp_path: Path) -> None:
    (snapshot,) = run(2, 1)
    answer = decided(snapshot, lambda: True)
    assert answer.stopped_early
    written(tmp_path / "r", [inline(snapshot, answer)])
    ended = tenure("replay", str(tmp_path / "r"))
    assert ended.returncode == 0
    assert "1 record stopped early: compared as far as the cycle came." in ended.stdout


@pytest.mark.parametrize("command", ["records", "replay"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-file"], "no-file: there is no such file of records"),
        ([__file__], "cannot be read as a file of records: file is not a database"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(command: str, arguments: list[str], says: str) -> None:
    ended = tenure(command, *arguments)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_record_that_is_not_there_is_named(path: Path) -> None:
    ended = tenure("replay", str(path), "--record", "9")
    assert ended.returncode == 2
    assert "no record 9; there are 1 to 4" in ended.stderr


def test_the_file_of_a_server_that_was_told_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "tenure").mkdir()
    written(tmp_path / "tenure" / "records.sqlite", [inline(*run(1, 1))])
    assert len(json.loads(tenure("records", "--output", "json", XDG_STATE_HOME=str(tmp_path)).stdout)) == 1


def test_records_and_no_records_do_not_go_together() -> None:
    ended = tenure("serve", "--records", "r", "--no-records")
    assert ended.returncode == 2
    assert "does not go with --no-records" in ended.stderr
