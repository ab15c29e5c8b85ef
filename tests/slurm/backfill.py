"""The check `slurm-backfill`: the profile of the page beside backfill, in simulated time.

Both play the jobs of the page over five seeds. The time is simulated, so that the machine decides nothing.
Backfill is the baseline `easy` of `tenure play`: in order of submission, around a start that is kept for the
first job that waits.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from tests.checks import Counts
from tests.tools.tool import ROOT

PAGE: Final = ROOT / "docs" / "operate" / "slurm-adapter.md"
LOAD: Final = "load.yaml"
PROFILE: Final = "plan.yaml"
_BLOCK: Final = re.compile(r"^```yaml\n# (?P<name>\S+\.yaml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LARGE: Final = frozenset(("5-8 GPUs", "over 8 GPUs"))


def main(
    first: Annotated[int, typer.Option(help="First of the five seeds")] = 1,
) -> Counts:
    """Compare GPUs in use and mean waits with those of backfill: more in use, shorter waits."""
    with TemporaryDirectory() as folder:
        played = play(Path(folder), range(first, first + 5))
    own, backfill = (average(played, name) for name in ("plan", "easy"))
    print(f"{'mean of five seeds':32}{'plan':>8}{'backfill':>10}")
    for name, value in own.items():
        print(f"{name:32}{value:8.3g}{backfill[name]:10.3g}")
    failed = sum(not is_kept for is_kept in comparisons(own, backfill))
    return Counts(3 - failed, failed)


def play(folder: Path, seeds: range) -> list[Mapping[str, Any]]:
    """The runs of both over all seeds, as `tenure play` prints them."""
    files = {found["name"]: found["text"] for found in _BLOCK.finditer(PAGE.read_text())}
    for name in (LOAD, PROFILE):
        (folder / name).write_text(files[name])
    command = [sys.executable, "-m", "tenure.cli", "play", LOAD, "--nodes", "4x8", "--config", PROFILE]
    command += ["--baseline", "easy", "--output", "json"]
    command += [text for seed in seeds for text in ("--seed", str(seed))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    runs: list[Mapping[str, Any]] = json.loads(done.stdout)["runs"]
    return runs


def average(runs: list[Mapping[str, Any]], name: str) -> Mapping[str, float]:
    """Measures of one policy: means over the seeds."""
    own = [run["metrics"] for run in runs if run["name"] == name]
    assert own
    return {
        "part of the GPUs in use": mean(each["cluster"]["allocation"] for each in own),
        "part that ran kept work": mean(each["cluster"]["goodput"] for each in own),
        "mean wait below 5 GPUs, seconds": mean(_wait(each, large=False) for each in own),
        "mean wait from 5 GPUs, seconds": mean(_wait(each, large=True) for each in own),
    }


def comparisons(own: Mapping[str, float], backfill: Mapping[str, float]) -> Iterator[bool]:
    """Whether kept work uses as much or more, and whether either class waits for less."""
    _, kept, small, large = own
    yield own[kept] >= backfill[kept]
    yield own[small] < backfill[small]
    yield own[large] < backfill[large]


def _wait(metrics: Mapping[str, Any], *, large: bool) -> float:
    """Mean wait of all jobs of a class, with the waits after evictions, in seconds."""
    found = [each["total_wait"] for size, each in metrics["by_size"].items() if (size in _LARGE) is large]
    return sum(each["mean"] * each["count"] for each in found) / sum(each["count"] for each in found)
