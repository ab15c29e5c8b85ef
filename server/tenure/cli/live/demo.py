"""`tenure demo`: a server process, a sample cluster and its decisions, and one that moves in the console."""

import os
import subprocess
import sys
import threading
import webbrowser
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.live.console import missing_packages
from tenure.process.options import Output

if TYPE_CHECKING:
    from rich.table import Table
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

SAMPLE: Final = "two-departments.yaml"
NOTICE: Final = (
    "distill reclaims two GPUs although none was free: queue language is below its quota, vision is above.",
    "finetune has the lowest priority in vision, but pods of sweep are evicted: finetune started 3 minutes "
    "ago, and vision guarantees a minimum runtime of 10 minutes.",
    "sweep keeps running with three pods: its minimum is two, the others were surplus.",
    "month-end cannot reclaim from other queues, because analytics already has its fair share. It preempts a "
    "pod group of its own queue.",
)
_STOP_SECONDS: Final = 10
"""Time to drain before the server is killed."""


@contextmanager
def server_process(log_level: str = "warning") -> Iterator[str]:
    """Start `tenure serve` on a free loopback port and yield its address; stop it when the block ends.

    Raises Unavailable if the server exits before it serves.
    """
    command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", "--no-records"]
    command += ["--log-level", log_level]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
        try:
            yield _address(process)
        finally:
            _stop(process)


def _address(process: "subprocess.Popen[str]") -> str:
    """Address in the line that the server prints when it serves."""
    from tenure.client.errors import Unavailable

    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise Unavailable("the server exited before it was ready; see its output above")
    return line.split()[-1]


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def demo(
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
    console: Annotated[
        bool | None,
        typer.Option(
            help="Then show a cluster that moves in the web console, until Ctrl-C. Default: on a terminal, "
            "if the extra console is installed.",
        ),
    ] = None,
) -> None:
    """Decide on a sample cluster with a temporary server, and show one that moves in the web console.

    The servers are always stopped again.
    """
    from tenure.client.snapshot_file import read_snapshot

    with as_file(files("tenure.cli") / "samples" / SAMPLE) as file:
        snapshot, place = read_snapshot(str(file)), _shortest(str(file))
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(_request_decisions(snapshot)[0], preserving_proto_field_name=True))
    else:
        _print_report(snapshot, place)
        if console if console is not None else sys.stdout.isatty() and not missing_packages():
            _show_story()


def _show_story() -> None:
    """Play the story on a server, and serve pages about it, until Ctrl-C."""
    from tenure.cli.live.story import play
    from tenure.console.process import ConsoleOptions, ServiceConnection, run

    is_stopped = threading.Event()
    with server_process("error") as address:
        story = play(address, is_stopped)
        next(story)
        player = threading.Thread(target=lambda: deque(story, 0), daemon=True)
        player.start()
        try:
            run(ServiceConnection(address), ConsoleOptions(listen="127.0.0.1:0"), _announce_story)
        finally:
            is_stopped.set()
            player.join(_STOP_SECONDS)


def _announce_story(address: str) -> None:
    typer.echo(f"\nA cluster that moves, in a loop of one minute: {address} (Ctrl-C ends)")
    if sys.stdout.isatty():
        webbrowser.open(address)


def _request_decisions(snapshot: "ClusterSnapshot") -> tuple["DecideResponse", str]:
    """Response of a temporary server, and its address."""
    from tenure.client import Client

    with server_process() as address, Client(address) as client:
        return client.decide(snapshot), address


def _print_report(snapshot: "ClusterSnapshot", place: str) -> None:
    from tenure.render import print_report
    from tenure.render.cluster import Drawing
    from tenure.render.terminal import TerminalConsole

    console = TerminalConsole(highlight=False, markup=False)
    console.print("A cluster of four nodes: the pod group and queue on each GPU\n", style="bold")
    Drawing(snapshot).print(console)
    response, address = _request_decisions(snapshot)
    console.print(f"Response of a Tenure server at {address}\n", style="bold")
    print_report(console, snapshot, response)
    console.print("\nWhat to notice", style="bold")
    console.print(_format_bullets(NOTICE))
    console.print("\nNext steps", style="bold")
    for purpose, command in _next_steps(place):
        console.print(f"  {purpose}:\n    {command}", soft_wrap=True)


def _format_bullets(facts: Iterable[str]) -> "Table":
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 1))
    for fact in facts:
        grid.add_row("·", fact)
    return grid


def _next_steps(sample: str) -> list[tuple[str, str]]:
    program = sys.argv[0]
    tenure = "python -m tenure.cli" if program.endswith(".py") else _shortest(program)
    unprotected = f"sed 's/: 10m/: 1m/' {sample} > demo.yaml && {tenure} decide demo.yaml"
    return [
        ("Decide without a server", f"{tenure} decide {sample}"),
        ("Print the response as JSON", f"{tenure} decide {sample} --output json"),
        ("Guarantee one minute instead of ten: finetune is evicted", unprotected),
        ("Start a server", f"{tenure} serve"),
    ]


def _shortest(path: str) -> str:
    """Relative path if it is shorter, quoted for a shell."""
    return quote(min(path, os.path.relpath(path), key=len))
