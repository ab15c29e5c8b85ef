"""Files that releases wrote are read, and files of newer versions are refused, unchanged, with the way out.

`kept` has the files of each release. The check `versions` runs two versions against each other.
"""

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from tenure.integration.journal import Journal
from tenure.integration.journal_format import FORMAT, pack_journal, unpack_journal
from tenure.integration.ports import JournalUnreadable
from tenure.server.records.file import SCHEMA_VERSION, RecordsError, open_to_read, open_to_write
from tenure.simulator.journal import MAGIC, CheckpointError
from tenure.simulator.journal import Journal as Checkpoint

from tests.compatibility.stored_files import AUDIT, CONTRACT, CURRENT, JOURNAL, RECORDS, read_problems

KEPT = sorted((Path(__file__).parent / "kept").iterdir())


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_files_and_contract_of_a_release_are_kept(kept: Path) -> None:
    assert {path.name for path in kept.iterdir()} == {AUDIT, CONTRACT, JOURNAL, RECORDS}


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_journal_of_a_release_is_read(kept: Path) -> None:
    journal = unpack_journal((kept / JOURNAL).read_bytes(), "the journal")
    assert (sorted(journal.entries), sorted(journal.eviction_history)) == (["g1"], [("v", "p")])


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
@pytest.mark.long
def test_commands_read_files_of_a_release(kept: Path, tmp_path: Path) -> None:
    copytree(kept, tmp_path / "files")
    assert [*read_problems(CURRENT, tmp_path / "files")] == []
    listed = CURRENT.run("records", tmp_path / "files" / RECORDS, "--output", "json")
    assert [record["engine_version"] for record in json.loads(listed.stdout)] == [kept.name] * 2
    assert (tmp_path / "files" / AUDIT).read_bytes()


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_records_of_another_format_are_refused_and_unchanged(version: int, tmp_path: Path) -> None:
    file = tmp_path / "r"
    open_to_write(file).close()
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    for open_file in (open_to_read, open_to_write):
        with pytest.raises(RecordsError, match=f"version {version}.*supports {SCHEMA_VERSION}; read it with"):
            open_file(file)
    assert file.read_bytes() == before


def test_journal_of_a_newer_format_is_refused_with_the_way_out() -> None:
    content = zlib.decompress(pack_journal(Journal()))
    assert content.count(b'"format":%d' % FORMAT) == 1
    newer = zlib.compress(content.replace(b'"format":%d' % FORMAT, b'"format":%d' % (FORMAT + 1)))
    with pytest.raises(
        JournalUnreadable, match=r"x was written by a newer version.*install that version again"
    ):
        unpack_journal(newer, "x")


def test_journal_without_a_format_is_read() -> None:
    content = zlib.decompress(pack_journal(Journal()))
    assert not unpack_journal(zlib.compress(content.replace(b'"format":%d,' % FORMAT, b"")), "x").entries


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (MAGIC.replace(b"1", b"2") + b'"run"\n', "choose another folder"),
        (MAGIC + b'"run 0.0.9"\n', "another version of Tenure; choose another folder, or delete the file"),
    ],
)
def test_checkpoint_of_another_version_is_refused_and_unchanged(
    head: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "checkpoint"
    file.write_bytes(head)
    with pytest.raises(CheckpointError, match=says):
        Checkpoint(file, "run", None)  # type: ignore[arg-type]
    assert file.read_bytes() == head
