"""`make adapter-size`: a real API server with 1,000 nodes and 10,000 pods, a server and an adapter.

Measured: the first list, push and cycle; the rounds after small changes; memory; and what is used while
nothing changes. Both tell all of their spans to a receiver, as with telemetry in full.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack, closing, redirect_stdout
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from tenure.client.kubernetes.transport import Transport

from tests.kube import binaries
from tests.kube.adapting import adapting, arguments
from tests.kube.controlplane import ControlPlane, control_plane
from tests.kube.definitions import define_kinds
from tests.kube.size.measuring import Figure, Process, first, idle, memory, steady
from tests.kube.size.populating import NAMESPACE, Size, objects, populate
from tests.telemetry.receiver import receiving
from tests.telemetry.served import telling_server

Tables = dict[str, list[Figure]]


def main() -> int:
    options = _options()
    programs = binaries.find()
    if programs is None:
        print(binaries.HOW, file=sys.stderr)
        return 2
    size = Size(options.nodes, options.pods)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        progress = stack.enter_context(Progress(*columns, console=Console(stderr=True)))
        plane = stack.enter_context(control_plane(programs, folder))
        transport = stack.enter_context(closing(Transport(plane.kubeconfig())))
        making = progress.add_task("objects made", total=objects(size))
        define_kinds(transport)
        populate(transport, size, lambda made: progress.advance(making, made))
        with redirect_stdout(sys.stderr):
            measured = _measured(plane, transport, folder, options, progress)
    told = {"nodes": size.nodes, "pods": size.pods, "load_average": os.getloadavg()[0]}
    _print(measured, told, as_json=options.output == "json")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.size", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000, help="nodes of 8 GPUs (1,000)")
    parser.add_argument("--pods", type=int, default=10_000, help="pods, in gangs of ten (10,000)")
    parser.add_argument("--changes", type=int, default=10, help="small changes, one after the other (10)")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds without a change (60)")
    parser.add_argument(
        "--output", choices=("table", "json"), default="table", help="how figures are printed"
    )
    return parser.parse_args()


def _measured(
    plane: ControlPlane, transport: Transport, folder: Path, options: argparse.Namespace, progress: Progress
) -> Tables:
    with receiving() as (received, address):
        endpoint = {"otlpEndpoint": f"http://{address}", "metricsInterval": "10s"}
        with telling_server(folder, **endpoint) as (server, at):
            config = folder / "adapter.yaml"
            config.write_text(json.dumps({"adapter": {}, "telemetry": endpoint}))
            told = (*arguments(plane, at, NAMESPACE), "--config", str(config), "--lease-duration", "15s")
            began_at = time.time()
            with adapting(folder / "adapter.log", *told) as adapter:
                processes = [
                    Process("adapter", adapter.pid),
                    Process("server", server.pid),
                    Process("kube-apiserver", plane.api_server.pid),
                    Process("etcd", plane.etcd.pid),
                ]
                tables = {"first": first(received, processes[:2], began_at)}
                tables["after it"] = memory(processes)
                changing = progress.add_task("small changes", total=options.changes)
                tables["steady"] = steady(
                    received, transport, processes[:2], options.changes, lambda: progress.advance(changing)
                )
                tables["nothing changes"] = idle(received, processes, options.idle)
                tables["in the end"] = memory(processes)
                return tables


def _print(measured: Tables, told: dict[str, float], *, as_json: bool) -> None:
    if as_json:
        figures = {name: [figure._asdict() for figure in table] for name, table in measured.items()}
        print(json.dumps({**told, "figures": figures}, indent=2))
        return
    table = Table("", "what", "measured", title=", ".join(f"{key} {value:,g}" for key, value in told.items()))
    table.columns[-1].justify = "right"
    for name, figures in measured.items():
        for number, figure in enumerate(figures):
            value = f"{figure.value:,.2f}" if figure.unit == "s" else f"{figure.value:,.0f}"
            table.add_row("" if number else name, figure.what, f"{value} {figure.unit}")
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
