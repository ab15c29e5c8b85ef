"""Small files that unpack or expand to large ones end in one line, before they need memory."""

import os
import sqlite3
import stat
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.server.records import RecordsError
from tenure.server.records.file import MAX_UNPACKED, decompress, open_to_write
from tenure.server.records.reader import RecordsFile
from tenure.wire.yaml_limits import MAX_ALIASED_NODES

from tests.e2e.command import ROOT, SAMPLE, run_tenure
from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot

EXPANDED = f"the aliases stand for more than {MAX_ALIASED_NODES:,} nodes"
DEPTH, WIDTH = 7, 9


def nested(form: str) -> str:
    """Lines of anchors; each refers to the one before nine times."""
    lines = ["- &a0 {x: 1}"]
    for level in range(1, DEPTH):
        lines.append(f"- &a{level} " + form.format(", ".join([f"*a{level - 1}"] * WIDTH)))
    return "\n".join(lines) + "\n"


def error_line(*arguments: str) -> str:
    """The line after which the command ends with exit status 2; usage errors have a usage line before it."""
    done = run_tenure(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("form", ["{{<<: [{}]}}", "{{y: [{}]}}"], ids=["merge keys", "lists"])
@pytest.mark.parametrize("command", [("decide",), ("decide", "--config"), ("migrate",)], ids=" ".join)
def test_aliases_of_a_yaml_file_are_limited(command: tuple[str, ...], form: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text(nested(form))
    snapshot = (str(SAMPLE),) if "--config" in command else ()
    error = error_line(command[0], *snapshot, *command[1:], str(file))
    assert "bomb.yaml" in error
    assert error.endswith(EXPANDED)


@pytest.mark.parametrize("command", ["decide", "migrate"])
def test_an_alias_inside_its_own_node_is_named(command: str, tmp_path: Path) -> None:
    file = tmp_path / "loop.yaml"
    file.write_text("kind: &a {b: *a}\n")
    assert error_line(command, str(file)).endswith("the alias *a refers to a node that contains it")


@pytest.mark.parametrize("value", ["version: " + "9" * 200_000, f"now: 2025-03-03T10:35:00.{'9' * 100_000}Z"])
def test_error_about_a_long_value_is_short_and_names_the_field(value: str, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(f"{value}\n")
    error = error_line("decide", str(file))
    assert f"long.yaml: {value.partition(':')[0]}: " in error
    assert len(error) < 1_000


def archive(path: Path, content: bytes) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("snapshot.json", content)
    return str(path)


def import_error(path: Path, source: str) -> str:
    outputs = ("--output", str(path / "kai.json"), "--config-output", str(path / "kai.yaml"))
    return error_line("import", "kai", source, *outputs)


def test_an_archive_that_unpacks_to_too_much_is_rejected(tmp_path: Path) -> None:
    content = b'{"rawObjects": {}' + b" " * 64 * 2**20 + b"}"
    source = archive(tmp_path / "bomb.zip", content)
    assert Path(source).stat().st_size < 2**17
    error = import_error(tmp_path, source)
    assert "bomb.zip: snapshot.json unpacks to more than 16,777,216 bytes" in error


def test_a_deeply_nested_archive_is_rejected(tmp_path: Path) -> None:
    source = archive(tmp_path / "deep.zip", b'{"rawObjects": {"pods": ' + b"[" * 100_000)
    assert import_error(tmp_path, source).endswith("deep.zip: snapshot.json is nested too deeply")


@pytest.mark.parametrize("flag", [6, 8], ids=["encrypted", "packed by another method"])
def test_an_archive_that_cannot_be_unpacked_is_rejected(flag: int, tmp_path: Path) -> None:
    source = Path(archive(tmp_path / "odd.zip", b'{"rawObjects": {}}'))
    content = bytearray(source.read_bytes())
    directory = content.index(b"PK\x01\x02")
    content[flag] = content[directory + flag + 2] = 1 if flag == 6 else 97
    source.write_bytes(content)
    assert "odd.zip: is encrypted, or packed by an unsupported method" in import_error(tmp_path, str(source))


def test_a_record_that_claims_a_large_size_is_rejected() -> None:
    empty_last_block = b"\x01\x00\x00"
    claim = b"\x28\xb5\x2f\xfd\xe0" + (2**40).to_bytes(8, "little") + empty_last_block
    with pytest.raises(ValueError, match=f"more than {MAX_UNPACKED:,}"):
        decompress(claim)


RECORDS = ROOT / "tests/compatibility/kept/0.1.0/records.sqlite"
VIEW = "ALTER TABLE {0} RENAME TO hidden; CREATE VIEW {0} AS SELECT * FROM hidden"
ENDLESS = """
    DROP TABLE outcomes;
    CREATE VIEW outcomes AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n
"""
CIRCLE = "UPDATE states SET parent = digest"
COMPUTED = """
    ALTER TABLE profiles RENAME TO hidden;
    CREATE TABLE profiles (digest TEXT PRIMARY KEY, content TEXT AS (hex(zeroblob(100000000))))
"""
STRANGE_SCHEMAS = {
    **{f"{name} is a view": (VIEW.format(name), f"'{name}' is a view") for name in ("records", "states")},
    "a view without an end": (ENDLESS, "'outcomes' is a view"),
    "a table of another program": ("CREATE VIRTUAL TABLE x USING fts5(y)", "'x' is a virtual table"),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "'t' is a trigger",
    ),
    "a column that is computed": (COMPUTED, "the column 'content' of 'profiles' is computed"),
    "no table": ("DROP TABLE outcomes", "it has no table 'outcomes'"),
}


def strange_records(folder: Path, script: str) -> Path:
    """A genuine records file that a stranger has changed."""
    path = folder / "records.sqlite"
    path.write_bytes(RECORDS.read_bytes())
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


@pytest.mark.parametrize(("script", "problem"), STRANGE_SCHEMAS.values(), ids=STRANGE_SCHEMAS)
@pytest.mark.parametrize("command", ["records", "replay"])
def test_records_file_that_computes_its_rows_is_refused_in_one_line(
    command: str, script: str, problem: str, tmp_path: Path
) -> None:
    path = strange_records(tmp_path, script)
    assert error_line(command, str(path)) == f"tenure: {path}: is not a records file: {problem}"


def test_states_of_a_records_file_that_form_a_circle_are_refused(tmp_path: Path) -> None:
    path = strange_records(tmp_path, CIRCLE)
    with RecordsFile(path) as file:
        first = next(file.records())
        with pytest.raises(RecordsError, match="cannot be read: the rows that it is made of form a circle"):
            file.snapshot(first)


def test_query_of_a_records_file_ends_after_a_number_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    columns = "cluster_id, node_pool, decision_id, group_id, step, result, detail, reported_at, caller"
    rows = f"INSERT INTO outcomes ({columns}) {many} SELECT c, p, i, '', '', '', '', 0, '' FROM n, shard"
    shard = "CREATE TEMP TABLE shard AS SELECT cluster_id AS c, node_pool AS p FROM records LIMIT 1"
    path = strange_records(tmp_path, f"{shard}; {rows}")
    with RecordsFile(path) as file:
        record = next(file.records())
        assert file.results(record) is not None
        monkeypatch.setattr("tenure.server.records.file.MAX_STEPS", 100_000)
        with pytest.raises(RecordsError, match="cannot be read: a query takes more than 100,000 steps"):
            file.results(record)
        assert file.ids()


ELSEWHERE = ("../../snapshot.json", "/snapshot.json", "x/../snapshot.json", "snapshot.json/", "SNAPSHOT.JSON")


def test_names_of_an_archive_are_no_paths(tmp_path: Path) -> None:
    """Only one member is read, and none is written."""
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(inside / "paths.zip", "w") as packed:
        for name in ELSEWHERE:
            packed.writestr(name, b"{}")
    error = import_error(inside, str(inside / "paths.zip"))
    assert error.endswith("has no snapshot.json; expected a file of the snapshot endpoint")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["paths.zip"]


def test_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"rawObjects": {}}')
    link = zipfile.ZipInfo("snapshot.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as packed:
        packed.writestr(link, str(secret))
    assert "is not a snapshot of KAI-Scheduler" in import_error(tmp_path, str(tmp_path / "link.zip"))


def prepared(path: Path, mode: int) -> Path:
    """An empty file that somebody made where records will be written."""
    path.touch()
    path.chmod(mode)
    return path


def test_records_are_not_written_to_a_file_that_others_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They contain the names of all workloads, and `tenure replay` believes them."""
    for mode in (0o666, 0o620):
        with pytest.raises(RecordsError, match=f"has mode {mode:04o}, so that other users can change it"):
            open_to_write(prepared(tmp_path / f"{mode:o}", mode))
    target, link = prepared(tmp_path / "target", 0o600), tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        open_to_write(link)
    open_to_write(target).close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(RecordsError, match="belongs to another user; move it away"):
        open_to_write(target)


def test_server_goes_on_without_records_and_names_the_file(tmp_path: Path) -> None:
    records = prepared(tmp_path / "records.sqlite", 0o666)
    with run_server_process("--records", str(records)) as (process, address):
        with Client(address) as client:
            assert client.decide(small_snapshot()).groups
        process.terminate()
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    assert sum("has mode 0666, so that other users can change it" in line for line in lines) == 1
    assert records.read_bytes() == b""
