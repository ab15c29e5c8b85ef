"""`tenure redact` as a process: files of every format, permissions of the name map, error messages."""

import json
from pathlib import Path

import pytest
from tenure.cli.redaction import redact
from tenure.client.snapshot_file import Format, decode, read_snapshot, write_snapshot

from tests.e2e.command import SAMPLE, run_tenure

EXPECTED = redact(read_snapshot(str(SAMPLE)))


@pytest.mark.parametrize("ending", ["json", "yaml", "txtpb", "binpb"])
def test_every_format_is_read_and_written(ending: str, tmp_path: Path) -> None:
    given, output = str(tmp_path / f"given.{ending}"), str(tmp_path / f"redacted.{ending}")
    write_snapshot(read_snapshot(str(SAMPLE)), given)
    done = run_tenure("redact", given, "--output", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{output}: 85 names replaced\n"
    assert read_snapshot(output) == EXPECTED.snapshot


def test_standard_output_has_the_format_of_the_snapshot() -> None:
    done = run_tenure("redact", str(SAMPLE), "--output", "-")
    assert decode(done.stdout.encode(), Format.YAML) == EXPECTED.snapshot
    assert done.stderr == "-: 85 names replaced\n"


def test_name_map_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.touch(mode=0o644)
    done = run_tenure("redact", str(SAMPLE), "--output", str(tmp_path / "c.json"), "--name-map", str(names))
    assert done.returncode == 0
    assert names.stat().st_mode & 0o777 == 0o600
    assert json.loads(names.read_text()) == EXPECTED.names
    assert EXPECTED.names["node"]["node-1"] == "gpu-1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--output'"),
        (["--output", "{file}"], "would overwrite SNAPSHOT"),
        (["--output", "{folder}/c.yaml", "--name-map", "{folder}/c.yaml"], "must differ from SNAPSHOT and"),
        (["--output", "{folder}/c.yaml", "--name-map", "{file}"], "must differ from SNAPSHOT and --output"),
        (["--output", "{folder}/c.xml"], "cannot infer the format from the file name"),
        (["--output", "{folder}/no/c.yaml"], "cannot be written: No such file or directory"),
        (["--output", "{folder}/c.yaml", "--name-map", "{folder}"], "cannot be written: Is a directory"),
    ],
)
def test_invalid_input_is_reported_and_no_file_written(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(SAMPLE.read_text())
    done = run_tenure("redact", str(file), *(each.format(file=file, folder=tmp_path) for each in arguments))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_text() == SAMPLE.read_text()


def test_invalid_snapshot_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("cluster_id: c\nqueues: [{name: a, parent: b}]\n")
    done = run_tenure("redact", str(file), "--output", str(tmp_path / "redacted.yaml"))
    assert done.returncode == 2
    assert "queues[0].parent: " in done.stderr
