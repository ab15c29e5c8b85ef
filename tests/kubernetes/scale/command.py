"""The check `adapter-scale`: a real API server with 1,000 nodes and 10,000 pods, a server and an adapter.

It measures the first list, push and cycle, the reconciles after small changes, usage while nothing changes,
a stream of new pods (also with kube-scheduler), the eviction of gangs, and memory. Server and adapter export
all of their spans to a receiver, as with full telemetry.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, redirect_stdout
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from tenure.kubernetes.api.transport import Transport

from tests.checks import Counts
from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.environment import binaries
from tests.kubernetes.environment.components import run_disruption_controller, run_kube_scheduler
from tests.kubernetes.environment.control_plane import ControlPlane, run_control_plane
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.scale.large_cluster import NAMESPACE, ClusterSize, objects, populate
from tests.kubernetes.scale.load import Stream, measure_eviction, measure_stream
from tests.kubernetes.scale.measurement import (
    Measurement,
    Process,
    measure_first_reconcile,
    measure_memory,
    measure_small_changes,
)
from tests.kubernetes.scale.measurement import measure_idle as idle_figures
from tests.kubernetes.scale.sizing_page import PAGE, render_page, shown
from tests.telemetry.otlp_receiver import run_receiver
from tests.telemetry.telemetry_server import run_telemetry_server

Tables = dict[str, list[Measurement]]
LIMITS: Final = {
    ("first", "the first round"): 10.0,
    ("steady", "a round that decides, the median"): 500.0,
    ("steady", "a new pod, from its creation to its binding"): 1_000.0,
    ("under load", "this scheduler, creation to binding, p50"): 300.0,
    ("under load", "this scheduler, creation to binding, p99"): 1_000.0,
    ("under load", "a gang of 64, from its first to its last eviction"): 2.0,
    ("under load", "a gang of 64 with a budget, from its first to its last eviction"): 2.0,
    ("nothing changes", "processor, adapter"): 1.0,
    ("nothing changes", "processor, server"): 1.0,
    ("in the end", "memory, adapter"): 512.0,
    ("in the end", "memory, server"): 512.0,
}
"""Limits of figures, in their units, by table and figure."""
LARGE_PODS: Final = 10_000
LARGE_LIMITS: Final = {("in the end", "memory, adapter"): 1_024.0, ("in the end", "memory, server"): 1_024.0}
"""Limits in place of these for more than LARGE_PODS pods."""
SCHEDULER_START_SECONDS: Final = 10.0
"""Time in which kube-scheduler lists the cluster."""


class Plan(NamedTuple):
    """What is measured."""

    changes: int
    """Small changes, one after the other."""
    idle_seconds: float
    stream: Stream
    beside: binaries.Components


def main(
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of 8 GPUs")] = 1_000,
    pods: Annotated[int, typer.Option(min=10, help="Pods, in gangs of ten")] = 10_000,
    changes: Annotated[int, typer.Option(min=1, help="Small changes, one after the other")] = 10,
    stream: Annotated[int, typer.Option(min=2, help="New pods with a GPU in a stream")] = 500,
    rate: Annotated[int, typer.Option(min=1, help="Pods of the stream in a second")] = 50,
    idle: Annotated[float, typer.Option(help="Seconds without a change")] = 60.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file")] = None,
    write_page: Annotated[bool, typer.Option("--write-page", help=f"Put figures into {PAGE.name}")] = False,
) -> Counts:
    """Measure an adapter and a server on a large cluster of a real API server, and compare with limits."""
    programs, beside = binaries.available(), binaries.available_components()
    size = ClusterSize(nodes, pods)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        progress = stack.enter_context(Progress(*columns, console=Console(stderr=True)))
        plane = stack.enter_context(run_control_plane(programs, folder))
        transport = stack.enter_context(closing(Transport(plane.kubeconfig())))
        making = progress.add_task("objects made", total=objects(size))
        define_kinds(transport)
        populate(transport, size, lambda made: progress.advance(making, made))
        with redirect_stdout(sys.stderr):
            plan = Plan(changes, idle, Stream(stream, rate), beside)
            measured = _measured(plane, transport, folder, plan, progress)
    conditions = {"nodes": size.nodes, "pods": size.pods, "load_average": os.getloadavg()[0]}
    _print(measured, conditions)
    if json_file:
        figures = {name: [figure._asdict() for figure in table] for name, table in measured.items()}
        json_file.write_text(json.dumps({**conditions, "figures": figures}, indent=2))
    if write_page:
        PAGE.write_text(render_page(PAGE.read_text(), size, measured, conditions["load_average"]))
    return _against_limits(measured, LIMITS | (LARGE_LIMITS if size.pods > LARGE_PODS else {}))


def _against_limits(measured: Tables, limits: Mapping[tuple[str, str], float]) -> Counts:
    figures = {(name, figure.what): figure for name, table in measured.items() for figure in table}
    failed = 0
    for key, limit in limits.items():
        if (figure := figures[key]).value > limit:
            print(f"{', '.join(key)}: {figure.value:,.2f} {figure.unit}, limit {limit:,g}")
            failed += 1
    return Counts(len(limits) - failed, failed)


def _measured(
    plane: ControlPlane,
    transport: Transport,
    folder: Path,
    plan: Plan,
    progress: Progress,
) -> Tables:
    with run_receiver() as (received, address):
        endpoint = {"otlpEndpoint": f"http://{address}", "metricsInterval": "10s"}
        with run_telemetry_server(folder, **endpoint) as (server, at):
            config = folder / "adapter.yaml"
            config.write_text(json.dumps({"adapter": {}, "telemetry": endpoint}))
            arguments = (
                *adapter_arguments(plane, at, NAMESPACE),
                "--config",
                str(config),
                "--lease-duration",
                "15s",
            )
            began_at = time.time()
            with run_adapter(folder / "adapter.log", *arguments) as adapter:
                processes = [
                    Process("adapter", adapter.pid),
                    Process("server", server.pid),
                    Process("kube-apiserver", plane.api_server.pid),
                    Process("etcd", plane.etcd.pid),
                ]
                tables = {"first": measure_first_reconcile(received, processes[:2], began_at)}
                tables["after it"] = measure_memory(processes)
                changing = progress.add_task("small changes", total=plan.changes)
                tables["steady"] = measure_small_changes(
                    received, transport, processes[:2], plan.changes, lambda: progress.advance(changing)
                )
                tables["nothing changes"] = idle_figures(received, processes, plan.idle_seconds)
                progress.add_task("pods in a stream, and gangs evicted", total=None)
                tables["under load"] = measure_stream(transport, plan.stream)
                with run_kube_scheduler(plan.beside.scheduler, plane, folder):
                    time.sleep(SCHEDULER_START_SECONDS)
                    tables["under load"] += measure_stream(transport, plan.stream, "default-scheduler")
                tables["under load"] += measure_eviction(transport, "wide")
                with run_disruption_controller(plan.beside.controller_manager, plane, folder):
                    tables["under load"] += measure_eviction(transport, "guarded", has_budget=True)
                tables["in the end"] = measure_memory(processes)
                return tables


def _print(measured: Tables, conditions: dict[str, float]) -> None:
    table = Table(
        "", "what", "measured", title=", ".join(f"{key} {value:,g}" for key, value in conditions.items())
    )
    table.columns[-1].justify = "right"
    for name, figures in measured.items():
        for number, figure in enumerate(figures):
            table.add_row("" if number else name, figure.what, shown(figure))
        table.add_section()
    Console().print(table)
