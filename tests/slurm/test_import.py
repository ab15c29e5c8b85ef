"""`tenure import slurm`: a what-if on a cluster that Tenure does not drive."""

from pathlib import Path

import pytest
from tenure.cli.main import app
from tenure.client.snapshot_file import read_snapshot
from typer.testing import CliRunner

RECORDED = Path(__file__).parent / "recorded"
FILES = ("--jobs", str(RECORDED / "squeue.json"), "--nodes", str(RECORDED / "sinfo.json"))


def test_listings_become_a_snapshot(tmp_path: Path) -> None:
    output = tmp_path / "slurm.yaml"
    ended = CliRunner().invoke(app, ["import", "slurm", *FILES, "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    snapshot = read_snapshot(str(output))
    assert (len(snapshot.nodes), len(snapshot.pod_groups)) == (8, 17)
    assert {queue.name for queue in snapshot.queues} == {"default", "research", "vision"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--partition", "cpu"), "partition cpu has no nodes; known are gpu"),
        (("--queue-from", "user"), "must be one of account, qos, partition"),
        (("--jobs", str(RECORDED / "config.txt")), "cannot read the output of squeue --json"),
        (("--nodes", "/nowhere.json"), "cannot be read: No such file"),
    ],
)
def test_wrong_input_is_named(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    ended = CliRunner().invoke(app, ["import", "slurm", *FILES, *arguments, "--output", f"{tmp_path}/x.yaml"])
    assert ended.exit_code == 2
    assert text in " ".join(ended.output.replace("│", " ").split())
