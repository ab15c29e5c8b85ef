"""docs/get-started/slurm.md: its commands run on a real cluster, and print what is shown."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.slurm.slurm_cluster import OPEN_GATE, SlurmCluster, run_slurm
from tests.small_snapshot import child_environment
from tests.tools.tool import ROOT

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
PAGE: Final = (ROOT / "docs/get-started/slurm.md").read_text()
STEPS: Final = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", PAGE, re.DOTALL | re.MULTILINE)
"""Each block of commands, and the output shown directly after it."""
_END: Final = "--- end of a step"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


@pytest.fixture
def empty_cluster(folder: Path, slurm_programs: None) -> Iterator[SlurmCluster]:
    with run_slurm(folder / "slurm", OPEN_GATE) as running:
        running.await_script_change()
        yield running


def test_commands_of_the_page_print_what_it_shows(empty_cluster: SlurmCluster, folder: Path) -> None:
    assert len(STEPS) == 11
    environment = {**child_environment(), **empty_cluster.environment, "USER": "root"}
    tenure = Path(sys.executable).parent
    environment["PATH"] = f"{environment['PATH']}:{tenure}:{os.environ['PATH']}"
    script = "".join(f"{commands}echo '{_END}'\n" for commands, _ in STEPS)
    bash = (shutil.which("bash") or "bash", "-eum", "-o", "pipefail", "-c", script)
    work = folder / "work"
    work.mkdir()
    limited = ("timeout", "--foreground", "240", *bash)
    ended = subprocess.run(limited, cwd=work, env=environment, capture_output=True, text=True, check=False)
    logs = "".join(f"--- {log.name}\n{log.read_text()}" for log in sorted(work.glob("*.log")))
    jobs = empty_cluster.try_command("scontrol", "show", "job").stdout
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}{logs}{jobs}{empty_cluster.logs()}"
    outputs = ended.stdout.split(f"{_END}\n")
    for (commands, shown), output in zip(STEPS, outputs, strict=False):
        if shown:
            assert comparable(output) == comparable(shown), commands


def comparable(output: str) -> list[str]:
    """Lines without times."""
    return [_TIME.sub("TIME", line).rstrip() for line in output.splitlines()]
