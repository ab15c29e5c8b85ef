"""`make slurm`: a real Slurm cluster of 8 nodes with 8 GPUs each on this machine, with Tenure, until Ctrl-C.

`python -m tests.slurm --record` records listings of it as test data instead.
"""

import fcntl
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

from tests.child_processes import Program
from tests.slurm.accounting import run_slurm_with_accounts
from tests.slurm.record import record, record_accounts
from tests.slurm.slurm_adapter import gate, run_slurm_adapter
from tests.slurm.slurm_cluster import (
    NO_SLURM,
    OPEN_GATE,
    PACKAGES,
    SlurmCluster,
    SlurmFailed,
    find_slurm,
    run_slurm,
)
from tests.tools.tool import ROOT

FOLDER: Final = ROOT / ".cache/slurm-cluster"
_CANNOT_RUN, _FAILED = 2, 3
_GUIDE: Final = """
A Slurm cluster runs: 8 nodes with 8 GPUs each, and Tenure starts its jobs.
In another shell:

    export PATH={bin}:$PATH LD_LIBRARY_PATH={libraries} SLURM_CONF={configuration}
    sbatch --chdir=/tmp -N2 --gres=gpu:8 --account=research --wrap 'sleep 600'
    squeue -O JobID,State,NodeList,admin_comment:120

The accounts research and vision have 32 GPUs each. Ctrl-C ends everything.
"""
_EMPTY_GUIDE: Final = """
A Slurm cluster runs: 8 nodes with 8 GPUs each. docs/get-started/slurm.md installs Tenure. In another shell:

    export PATH={bin}:$PATH LD_LIBRARY_PATH={libraries} SLURM_CONF={configuration}

Ctrl-C ends everything.
"""
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    folder: Annotated[Path, typer.Option(help="Folder of data and logs; emptied at the start")] = FOLDER,
    minutes: Annotated[float, typer.Option(help="End after this time")] = 480.0,
    empty: Annotated[bool, typer.Option("--empty", help="Without Tenure, to install it")] = False,
    should_record: Annotated[bool, typer.Option("--record", help="Record test data and end")] = False,
) -> None:
    """Run a cluster with Tenure until Ctrl-C.

    Exit status: 0 stopped by Ctrl-C or by time; 2 it cannot run here; 3 a program of it failed.
    """
    if not find_slurm():
        _end(_CANNOT_RUN, NO_SLURM)
    signal.signal(signal.SIGTERM, _interrupt)
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _end(_CANNOT_RUN, f"a cluster runs in {folder}")
        try:
            _run(folder, minutes, empty, should_record)
        except KeyboardInterrupt:
            _note("stopped, and all its processes have ended")
        except SlurmFailed as failure:
            _end(_FAILED, str(failure))


def _run(folder: Path, minutes: float, empty: bool, should_record: bool) -> None:
    shutil.rmtree(folder)
    settings = folder / "tenure"
    settings.mkdir(parents=True)
    with run_slurm(folder / "slurm", OPEN_GATE if empty else gate(settings)) as cluster:
        if should_record:
            record(cluster)
            with run_slurm_with_accounts(folder / "accounts", OPEN_GATE) as other:
                record_accounts(other)
        elif empty:
            print(_guide(_EMPTY_GUIDE, cluster), flush=True)
            _wait(cluster, {}, minutes)
        else:
            with run_slurm_adapter(cluster, settings) as adapter:
                print(_guide(_GUIDE, cluster), flush=True)
                assert adapter.process is not None
                _wait(cluster, {"tenure slurm": adapter.process}, minutes)


def _wait(cluster: SlurmCluster, others: Mapping[str, Program], minutes: float) -> None:
    """Wait for Ctrl-C or the time. Ends the run if a program ends."""
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        for name, program in {**cluster.programs, **others}.items():
            if program.has_ended:
                _end(_FAILED, f"{name} has ended:\n{program.output}")
        time.sleep(1)


def _guide(text: str, cluster: SlurmCluster) -> str:
    return text.format(
        bin=PACKAGES / "usr/bin",
        libraries=cluster.environment["LD_LIBRARY_PATH"],
        configuration=cluster.configuration,
    )


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _end(status: int, reason: str) -> NoReturn:
    _note(f"slurm: {reason}")
    raise typer.Exit(status)


if __name__ == "__main__":
    app(prog_name="python -m tests.slurm")
