"""The fault matrix: what strikes, at which command, before or after it. `python -m tests slurm-faults`."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from tests.checks import CannotRun, Counts
from tests.server.servers import run_server_process
from tests.slurm.faults.scenario import Broken, FaultRun
from tests.slurm.faults.striking_commands import Strike, When
from tests.slurm.slurm_adapter import gate
from tests.slurm.slurm_cluster import NO_SLURM, SlurmFailed, find_slurm, run_slurm

WRITES: Final = 15
"""Commands of an undisturbed run whose low jobs return together. Later strikes do not happen, and say so."""
_JOB: Final = "squeue -h -n {name} -o %i"
FAULTS: Final = {
    "adapter": "kill -9 $ADAPTER",
    "controller": "kill -9 $CONTROLLER; sleep 0.2",
    "later": "sleep 0.5; kill -9 $CONTROLLER; sleep 0.2",
    "node": "kill -9 $NODE_n1",
    "drain": "scontrol update NodeName=n2 State=DRAIN Reason=test; (sleep 5; scontrol update NodeName=n2 "
    "State=RESUME) >/dev/null 2>&1 &",
    "requeue": f"for job in $({_JOB.format(name='low1')}); do scontrol requeue $job; done",
    "hold": f"for job in $({_JOB.format(name='low1')}); do scontrol hold $job; (sleep 3; scontrol "
    "release $job) >/dev/null 2>&1 & done",
    "pause": "kill -STOP $ADAPTER; (sleep 3; kill -CONT $ADAPTER) >/dev/null 2>&1 &",
}
"""What strikes, in the language of a shell."""
_WHEN: Final[dict[str, tuple[When, ...]]] = {
    "adapter": ("before", "after"),
    "controller": ("before", "after"),
    "later": ("after",),
}


def strikes() -> Iterator[tuple[str, Strike]]:
    """All runs: each fault at each command."""
    for fault, script in FAULTS.items():
        for when in _WHEN.get(fault, ("before",)):
            for number in range(1, WRITES + 1):
                yield f"{fault}-{when}-{number}", Strike(script, number, when)


class Played(NamedTuple):
    """What happened in a run."""

    commands: list[str]
    has_struck: bool
    operator_steps: list[str]
    unused_releases: int
    """Starts that Slurm did not make within the time that the adapter gives it."""


def play(strike: Strike) -> Played:
    """One run on a fresh cluster. Raises Broken and SlurmFailed."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-slurm-"))
    folder.chmod(0o755)
    try:
        settings = folder / "tenure"
        settings.mkdir()
        lua = gate(settings)
        with run_slurm(folder / "slurm", lua, nodes=2) as cluster, run_server_process() as (_, server):
            run = FaultRun(cluster, server, strike)
            commands = run.play()
            return Played(commands, run.commands.has_struck, run.operator_steps, run.unused_releases)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_faults(
    only: Annotated[str, typer.Option(metavar="TEXT", help="Runs whose names contain this")] = "",
    at_once: Annotated[int, typer.Option(min=1, help="Clusters at the same time")] = 2,
) -> Counts:
    """Play all runs, a few minutes each dozen: they mostly wait."""
    if not find_slurm():
        raise CannotRun(NO_SLURM)
    chosen = [(name, strike) for name, strike in strikes() if only in name]
    with ThreadPoolExecutor(at_once) as pool:
        passed = sum(pool.map(lambda run: _report(*run), chosen))
    return Counts(passed, len(chosen) - passed)


def _report(name: str, strike: Strike) -> bool:
    """Play a run and print its result. Returns whether it passed."""
    began = time.monotonic()
    try:
        run = play(strike)
    except (Broken, SlurmFailed) as failure:
        print(f"{name}: FAILED: {failure}", flush=True)
        return False
    count = len(run.commands)
    what = f"{count} commands" if run.has_struck else f"not struck: {count} commands only"
    what += "".join(f", an operator {step}" for step in run.operator_steps)
    print(f"{name}: passed in {time.monotonic() - began:.0f} s, {what}", file=sys.stderr, flush=True)
    return True
