"""`make cluster`: a whole cluster on this machine, to try Tenure on.

`python -m tests.cluster` runs it until Ctrl-C, with `--empty` without Tenure and workloads;
`python -m tests.cluster apply FILE` creates the objects of a file on it, where there is no kubectl.
"""

import fcntl
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer
import yaml
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program
from tests.cluster.pod_host import host_tenure_pods
from tests.cluster.user_guide import SAMPLES, guide, guide_empty
from tests.cluster.whole_cluster import run_empty_cluster, run_whole_cluster
from tests.kubernetes.environment.binaries import NO_CLUSTER, ROOT, ClusterBinaries, find_cluster
from tests.kubernetes.environment.control_plane import StartFailed
from tests.kubernetes.environment.manifests import create, read_manifests

FOLDER: Final = ROOT / ".cache/cluster"
_CANNOT_RUN, _FAILED = 2, 3
_PAGES: Final = ("nodes.yaml", "queues.yaml", "workloads.yaml")
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Empty = Annotated[bool, typer.Option("--empty", help="Neither Tenure nor workloads, to install them")]
Folder = Annotated[Path, typer.Option(help="Folder of data, logs and kubeconfig; emptied at the start")]


@app.callback(invoke_without_command=True)
def run(context: typer.Context, folder: Folder = FOLDER, empty: Empty = False) -> None:
    """Run a cluster with Tenure and sample workloads until Ctrl-C.

    Exit status: 0 stopped by Ctrl-C; 2 it cannot run here; 3 a program of it ended.
    """
    if context.invoked_subcommand:
        return
    binaries = find_cluster()
    if binaries is None:
        _end(_CANNOT_RUN, NO_CLUSTER)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        with _only_run_in(folder):
            (_run_empty if empty else _run_with_samples)(binaries, folder)
    except KeyboardInterrupt:
        _note("stopped, and all its processes have ended")
    except StartFailed as failure:
        _end(_FAILED, f"the cluster does not start: {failure}")


def _run_with_samples(binaries: ClusterBinaries, folder: Path) -> NoReturn:
    with run_whole_cluster(binaries, folder, has_started=_note) as cluster:
        for page in _PAGES:
            _create_all(cluster.admin, SAMPLES / page)
        print(guide(cluster, shutil.which("kubectl") is not None), flush=True)
        _wait_for_end(cluster.programs)


def _run_empty(binaries: ClusterBinaries, folder: Path) -> NoReturn:
    with (
        run_empty_cluster(binaries, folder, has_started=_note) as cluster,
        host_tenure_pods(cluster.plane, cluster.admin, folder / "pods"),
    ):
        _create_all(cluster.admin, SAMPLES / "empty-nodes.yaml")
        print(guide_empty(cluster), flush=True)
        _wait_for_end(cluster.programs)


@app.command()
def apply(files: Annotated[list[Path], typer.Argument()], folder: Folder = FOLDER) -> None:
    """Create the objects of manifests on the running cluster.

    Exit status: 0 created; 2 the file cannot be read, or the API server refuses an object.
    """
    try:
        with closing(Transport(folder / "kubeconfig")) as admin:
            for file in files:
                _create_all(admin, file)
    except (ApiError, OSError, yaml.YAMLError) as failure:
        _end(_CANNOT_RUN, str(failure))


def _create_all(admin: Transport, file: Path) -> None:
    for item in read_manifests(file):
        create(admin, item)
        _note(f"{item['kind'].lower()}/{item['metadata']['name']} created")


@contextmanager
def _only_run_in(folder: Path) -> Iterator[None]:
    """Empty a folder, and keep it from other runs until the end of the context."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _end(_CANNOT_RUN, f"a cluster is running in {folder}; stop it, or choose another --folder")
        shutil.rmtree(folder)
        folder.mkdir()
        yield


def _wait_for_end(programs: Mapping[str, Program]) -> NoReturn:
    """Wait for Ctrl-C. Ends the run if a program ends."""
    while True:
        for name, program in programs.items():
            if program.has_ended:
                _end(_FAILED, f"{name} has ended:\n{program.output}")
        time.sleep(1)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Stop in order; another signal does not interrupt that."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _end(status: int, reason: str) -> NoReturn:
    _note(f"cluster: {reason}")
    raise typer.Exit(status)


if __name__ == "__main__":
    app(prog_name="python -m tests.cluster")
