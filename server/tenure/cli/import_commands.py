"""`tenure import`: snapshots from other people's data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from tenure.cli.importers.openb import ImportedTrace

import_app = typer.Typer(
    help="Make a snapshot from data of other schedulers and traces.", no_args_is_help=True
)

_READERS: Final = {"kai": "kubernetes"}
"""Extras that bring readers, by the name of the reader."""
_TIMES: Final = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"]


@import_app.command()
def openb(
    nodes: Annotated[Path, typer.Option(metavar="FILE", help="Node list of the trace, csv.")],
    pods: Annotated[Path, typer.Option(metavar="FILE", help="Pod list of the trace, csv.")],
    running: Annotated[int, typer.Option(metavar="N", min=0, help="The first N pods by creation run.")],
    pending: Annotated[int, typer.Option(metavar="M", min=0, help="The next M pods wait.")],
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="Where the snapshot goes; .json, .yaml, .txtpb or .binpb."),
    ] = "openb.binpb",
    now: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", formats=_TIMES, help="Time of the snapshot, like 2023-05-30T12:00:00Z."),
    ] = None,
) -> None:
    """A snapshot from the openb trace of a production GPU cluster; docs/use/import.md describes the mapping.

    The trace does not say where pods ran: Tenure's own allocate places them, in order of creation. Those
    that fit on no node wait instead.
    """
    from tenure.cli.importers.openb import import_openb
    from tenure.cli.importers.openb_csv import TraceError
    from tenure.client.snapshot_file import format_of, write_snapshot
    from tenure.codec.engine import Engine
    from tenure.server.garbage_collection import pause_gc
    from tenure.solver.registry import default_profile

    form = format_of(output)
    engine, at = Engine(default_profile(), pause=pause_gc), now and now.replace(tzinfo=UTC)
    try:
        with _progress() as progress:
            trace = import_openb(
                nodes, pods, running=running, pending=pending, engine=engine, now=at, progress=progress
            )
    except TraceError as error:
        raise typer.BadParameter(str(error)) from None
    write_snapshot(trace.snapshot, output, form)
    _print_summary(trace, output)


@import_app.command()
def kai(
    file: Annotated[
        Path, typer.Argument(metavar="SNAPSHOT.zip", help="What its endpoint /get-snapshot writes.")
    ],
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="Where the snapshot goes; .json, .yaml, .txtpb or .binpb."),
    ] = "kai.binpb",
    config_output: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the configuration of the scheduler goes, in YAML.")
    ] = Path("kai.yaml"),
    cluster_id: Annotated[str, typer.Option(metavar="NAME", help="Cluster ID.")] = "kai",
    now: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            formats=_TIMES,
            help="When it was taken, like 2027-01-15T08:00:00Z; else the latest time its nodes tell of.",
        ),
    ] = None,
) -> None:
    """A snapshot and a configuration from a running KAI-Scheduler, to try Tenure on one's own cluster.

    Get the file from the scheduler's own HTTP port, where its plugin `snapshot` is on:
    curl -o snapshot.zip http://SCHEDULER:PORT/get-snapshot. The mapping is described in
    docs/reference/kubernetes-objects.md.
    """
    from tenure.cli.importers.kai_profile import import_profile
    from tenure.client.snapshot_file import format_of, write_snapshot

    form = format_of(output)
    snapshot, source = _reader("kai")(file, cluster_id, now and now.replace(tzinfo=UTC))
    configuration = import_profile(source)
    write_snapshot(snapshot, output, form)
    try:
        config_output.write_text(configuration.text)
    except OSError as error:
        raise typer.BadParameter(
            f"{config_output}: cannot be written: {error.strerror}", param_hint="--config-output"
        ) from None
    for said in configuration.unsupported:
        typer.echo(f"left out of {config_output}: {said}", err=True)
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes, {len(snapshot.queues):,} queues,")
    typer.echo(f"  {len(snapshot.pod_groups):,} pod groups, {len(snapshot.pods):,} pods")
    typer.echo(f"Decide on it: tenure decide {output} --config {config_output}")


def _reader(name: str) -> Callable[..., Any]:
    """The reader that another distribution brings for a kind of file."""
    for entry in entry_points(group="tenure.importers", name=name):
        reader: Callable[..., Any] = entry.load()
        return reader
    raise typer.BadParameter(f"reading it needs another package: pip install 'tenure[{_READERS[name]}]'")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while somebody watches it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Placing running pods", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_summary(trace: "ImportedTrace", output: str) -> None:
    snapshot = trace.snapshot
    gpus = sum(node.allocatable.gpu_milli for node in snapshot.nodes) // 1000
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes with {gpus:,} GPUs, {len(snapshot.pods):,} pods")
    typer.echo(f"  {trace.running:,} run")
    typer.echo(f"  {trace.pending:,} wait")
    if trace.unplaced:
        typer.echo(f"  {trace.unplaced:,} were to run, but fitted on no node: they wait as well")
    typer.echo(f"Decide on it: tenure decide {output}")
