"""A job that was moved to a partition of others is left to Slurm, whatever of that fails."""

from pathlib import Path

import pytest
from tenure.integration.ports import ClusterError
from tenure.slurm.adapter import Adoption
from tenure.slurm.observe.cluster import Scope
from tenure.slurm.observe.rows import JobRow
from tenure.slurm.programs import Slurm

MOVED = [JobRow(number, "PENDING", 5, partition="cpu", admin_comment="tenure: new") for number in (7, 8)]
OTHERS = [
    JobRow(9, "PENDING", 5, partition="gpu", admin_comment="tenure: new"),
    JobRow(10, "PENDING", 5, partition="cpu", admin_comment="wait for Anna"),
    JobRow(11, "RUNNING", 5, partition="cpu", admin_comment="tenure: new"),
]


def adoption(folder: Path, monkeypatch: pytest.MonkeyPatch, error: str) -> Adoption:
    """With a scontrol that writes down its commands, and fails with an error."""
    program = folder / "scontrol"
    log = folder / "log"
    program.write_text(
        f'#!/bin/sh\n[ $# = 0 ] && cat >> {log} || echo "$@" >> {log}\n'
        f"echo 'slurm_update error: {error}' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Adoption(Slurm(), Scope("test", ("gpu",)))


@pytest.mark.parametrize("error", ["Access/permission denied", "Invalid job id specified", "Job is finished"])
def test_moved_jobs_that_cannot_be_changed_cost_no_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    adoption(tmp_path, monkeypatch, error).release_moved([*MOVED, *OTHERS])
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == ["release 7,8", "update JobId=7 AdminComment=", "update JobId=8 AdminComment=", "quit"]


def test_slurmctld_that_is_away_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="Unable to contact"):
        adoption(tmp_path, monkeypatch, "Unable to contact slurm controller").release_moved(MOVED)


def test_without_moved_jobs_nothing_is_commanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adoption(tmp_path, monkeypatch, "").release_moved(OTHERS)
    assert not (tmp_path / "log").exists()
