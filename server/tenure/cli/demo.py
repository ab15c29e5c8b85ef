"""`tenure demo`: a server, a small cluster, a decision, and what to look at in it.

A server as a process of its own, for as long as it is needed.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from rich.table import Table
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

SAMPLE: Final = "two-departments.yaml"
NOTICE: Final = (
    "distill gets two GPUs although none was free: queue language is below its quota, queue vision above.",
    "finetune is the least important in vision, yet sweep yields: finetune started 3 minutes ago, and vision"
    " promises 10.",
    "sweep keeps running with three pods: it needs two, the others were extra.",
    "month-end may not ask other queues, as analytics uses its share already; it may ask its own.",
)
_STOP_SECONDS: Final = 10
"""How long the server may take to drain before it is killed."""


@contextmanager
def server_process() -> Iterator[str]:
    """Starts `tenure serve` on a free port of this machine; its address, until the block ends.

    Raises Unavailable when the server ends before it serves.
    """
    command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", "--no-records"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
        try:
            yield _address(process)
        finally:
            _stop(process)


def _address(process: "subprocess.Popen[str]") -> str:
    """The last word of the line in which the server says that it serves."""
    from tenure.client.errors import Unavailable

    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise Unavailable("the server ended before it was ready; what it said is above")
    return line.split()[-1]


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def demo(
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """Start a server as its own process, send it a small sample cluster, and show the decision.

    The server is stopped again in any case.
    """
    from tenure.client.snapshot_file import read_snapshot

    with as_file(files("tenure.cli") / "samples" / SAMPLE) as file:
        snapshot, place = read_snapshot(str(file)), _shortest(str(file))
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(_request_decisions(snapshot)[0], preserving_proto_field_name=True))
    else:
        _print_report(snapshot, place)


def _request_decisions(snapshot: "ClusterSnapshot") -> tuple["DecideResponse", str]:
    """The answer of a server that lives only for it, and the address it had."""
    from tenure.client import Client

    with server_process() as address, Client(address) as client:
        return client.decide(snapshot), address


def _print_report(snapshot: "ClusterSnapshot", place: str) -> None:
    from rich.console import Console
    from tenure.render import print_report
    from tenure.render.cluster import Drawing

    console = Console(highlight=False, markup=False)
    console.print("A cluster of four nodes: who uses each GPU, and for which queue\n", style="bold")
    Drawing(snapshot).print(console)
    response, address = _request_decisions(snapshot)
    console.print(f"The answer of a Tenure server that was started at {address}\n", style="bold")
    print_report(console, snapshot, response)
    console.print("\nWhat to notice", style="bold")
    console.print(_format_bullets(NOTICE))
    console.print("\nWhat to try next", style="bold")
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
    unprotected = f"sed 's/: 600s/: 60s/' {sample} > demo.yaml && {tenure} decide demo.yaml"
    return [
        ("The same answer without a server", f"{tenure} decide {sample}"),
        ("The steps as a caller gets them", f"{tenure} decide {sample} --output json"),
        ("Protect for one minute instead of ten: now finetune yields", unprotected),
        ("A server for your own calls", f"{tenure} serve"),
    ]


def _shortest(path: str) -> str:
    """The path from here if that is shorter, as a shell takes it."""
    return quote(min(path, os.path.relpath(path), key=len))
