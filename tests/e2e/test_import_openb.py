"""`tenure import openb` as a process, and its file as the input of `tenure decide`."""

from pathlib import Path

import pytest
from google.protobuf.json_format import Parse
from tenure.client.snapshot_file import read_snapshot
from tenure.v1.decide_pb2 import DecideResponse

from tests.e2e.command import run_tenure
from tests.e2e.generated_trace import write_trace


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    nodes, pods, _ = write_trace(tmp_path, nodes=6)
    return ["--nodes", str(nodes), "--pods", str(pods)]


@pytest.mark.parametrize(
    "ending", ["yaml", *(pytest.param(name, marks=pytest.mark.long) for name in ("json", "txtpb", "binpb"))]
)
def test_the_snapshot_is_written_in_the_format_of_its_name(
    files: list[str], ending: str, tmp_path: Path
) -> None:
    output = str(tmp_path / f"cluster.{ending}")
    done = run_tenure("import", "openb", *files, "--running", "10", "--pending", "5", "--output", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{output}: 6 nodes" in done.stdout
    assert len(read_snapshot(output).pods) == 15
    answer = Parse(run_tenure("decide", output, "--output", "json").stdout, DecideResponse())
    assert len(answer.outcomes) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--running", "9999", "--pending", "0"], "but 9999 are requested"),
        (["--running", "0", "--pending", "0"], "no pods requested"),
        (["--running", "-1", "--pending", "0"], "'--running'"),
        (["--running", "1", "--pending", "0", "--output", "cluster.xml"], "cannot infer the format"),
        (["--running", "1", "--pending", "0", "--now", "tomorrow"], "'--now'"),
        (["--running", "1", "--pending", "0", "--pods", "README.md"], "README.md:1: missing columns"),
    ],
)
def test_invalid_input_is_reported_without_traceback(
    files: list[str], arguments: list[str], message: str
) -> None:
    done = run_tenure("import", "openb", *files, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_now_can_be_set(files: list[str], tmp_path: Path) -> None:
    output, now = str(tmp_path / "cluster.binpb"), "2024-02-29T12:00:00Z"
    run_tenure(
        "import", "openb", *files, "--running", "3", "--pending", "1", "--now", now, "--output", output
    )
    assert read_snapshot(output).now.ToJsonString() == now
