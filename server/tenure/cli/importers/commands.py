"""`tenure import`: snapshots from other schedulers and traces."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from tenure.process.entry_points import EntryPointError, check_callable, load_entry_point

if TYPE_CHECKING:
    from tenure.cli.importers.openb import ImportedTrace

import_app = typer.Typer(
    help="Convert data of other schedulers and traces to a snapshot.", no_args_is_help=True
)

_READERS: Final = {
    "kai": "tenure-kubernetes; in a checkout of Tenure: pip install . ./client/tenure-kubernetes",
    "slurm": "tenure-slurm; in a checkout of Tenure: pip install . ./client/tenure-slurm",
}
"""Distributions that contain readers, and how to install them, by reader."""
_QUEUE_NAMES: Final = ("account", "qos", "partition")
_TIMES: Final = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"]


@import_app.command()
def openb(
    nodes: Annotated[Path, typer.Option(metavar="FILE", help="Node list of the trace (CSV).")],
    pods: Annotated[Path, typer.Option(metavar="FILE", help="Pod list of the trace (CSV).")],
    running: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of running pods, the first by creation time.")
    ],
    pending: Annotated[
        int, typer.Option(metavar="M", min=0, help="Number of pending pods, the next by creation time.")
    ],
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="File for the snapshot: .json, .yaml, .txtpb or .binpb."),
    ] = "openb.binpb",
    now: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", formats=_TIMES, help="Time of the snapshot (RFC 3339)."),
    ] = None,
) -> None:
    """Convert the openb trace of a production GPU cluster to a snapshot; docs/use/import.md has the mapping.

    The trace does not contain the nodes of pods. The allocate action places them by creation time. Pods that
    fit on no node are pending.
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
        Path, typer.Argument(metavar="SNAPSHOT.zip", help="Archive from the endpoint /get-snapshot.")
    ],
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="File for the snapshot: .json, .yaml, .txtpb or .binpb."),
    ] = "kai.binpb",
    config_output: Annotated[
        Path, typer.Option(metavar="FILE", help="File for the scheduler configuration (YAML).")
    ] = Path("kai.yaml"),
    cluster_id: Annotated[str, typer.Option(metavar="NAME", help="Cluster ID.")] = "kai",
    now: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            formats=_TIMES,
            help="Time of the snapshot (RFC 3339). Default: the latest time in its nodes.",
        ),
    ] = None,
) -> None:
    """Convert a snapshot of a running KAI-Scheduler, with its configuration.

    Download the file from the HTTP port of the scheduler, whose plugin `snapshot` must be enabled:
    curl -o snapshot.zip http://SCHEDULER:PORT/get-snapshot. docs/reference/kubernetes-objects.md
    has the mapping.
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
    for setting in configuration.unsupported:
        typer.echo(f"not in {config_output}: {setting}", err=True)
    if configuration.missing:
        names = ", ".join(configuration.missing)
        typer.echo(f"off in {config_output}, because KAI-Scheduler runs without: {names}", err=True)
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes, {len(snapshot.queues):,} queues,")
    typer.echo(f"  {len(snapshot.pod_groups):,} pod groups, {len(snapshot.pods):,} pods")
    typer.echo(f"Decide on it: tenure decide {output} --config {config_output}")


@import_app.command()
def slurm(
    jobs: Annotated[Path, typer.Option(metavar="FILE", help="Output of `squeue --json`.")],
    nodes: Annotated[Path, typer.Option(metavar="FILE", help="Output of `sinfo --json`.")],
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Partition that Tenure would schedule; repeatable. Default: all."),
    ] = None,
    queues: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Snapshot file with `queues`. Default: one per account, no quota."),
    ] = None,
    queue_from: Annotated[
        str, typer.Option(metavar="NAME", help="What names a queue: account, qos or partition.")
    ] = "account",
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="File for the snapshot: .json, .yaml, .txtpb or .binpb."),
    ] = "slurm.yaml",
    cluster_id: Annotated[str, typer.Option(metavar="NAME", help="Cluster ID.")] = "slurm",
    now: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            formats=_TIMES,
            help="Time of the snapshot (RFC 3339). Default: that of the last submission or start.",
        ),
    ] = None,
) -> None:
    """Convert listings of a Slurm cluster to a snapshot. Tenure does not need to drive it.

    On the cluster: squeue --json > jobs.json; sinfo --json > nodes.json. docs/get-started/slurm.md has the
    mapping. A job that Tenure could not place is pending, and its reason says what to request instead.
    """
    from tenure.client.snapshot_file import format_of, write_snapshot

    if queue_from not in _QUEUE_NAMES:
        raise typer.BadParameter(f"must be one of {', '.join(_QUEUE_NAMES)}", param_hint="--queue-from")
    form, at = format_of(output), now and now.replace(tzinfo=UTC)
    snapshot = _reader("slurm")(jobs, nodes, cluster_id, partition or (), queues, queue_from, at)
    write_snapshot(snapshot, output, form)
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes, {len(snapshot.queues):,} queues,")
    typer.echo(f"  {len(snapshot.pod_groups):,} jobs, {len(snapshot.pods):,} pods (a pod per node of a job)")
    typer.echo(f"Decide on it: tenure decide {output}")


def _reader(name: str) -> Callable[..., Any]:
    """Reader of another distribution for a kind of file."""
    for entry in entry_points(group="tenure.importers", name=name):
        try:
            reader: Callable[..., Any] = load_entry_point(entry, check_callable)
        except EntryPointError as error:
            raise typer.BadParameter(str(error)) from None
        return reader
    raise typer.BadParameter(f"requires {_READERS[name]}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Progress bar on standard error, if it is a terminal."""
    from rich.progress import Progress
    from tenure.render.terminal import TerminalConsole

    console = TerminalConsole(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Placing running pods", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_summary(trace: "ImportedTrace", output: str) -> None:
    snapshot = trace.snapshot
    gpus = sum(node.allocatable.gpu_milli for node in snapshot.nodes) // 1000
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes with {gpus:,} GPUs, {len(snapshot.pods):,} pods")
    typer.echo(f"  {trace.running:,} running")
    typer.echo(f"  {trace.pending:,} pending")
    if trace.unplaced:
        typer.echo(f"  {trace.unplaced:,} of them pending because they fit on no node")
    typer.echo(f"Decide on it: tenure decide {output}")
