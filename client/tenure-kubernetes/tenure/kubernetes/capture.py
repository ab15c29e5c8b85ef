"""`tenure capture`: a snapshot of a live cluster.

Also errors and warnings of all commands that read Kubernetes objects.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from tenure.kubernetes.choices import WorkloadApi

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.kubernetes.kai_snapshot import KaiSnapshot
    from tenure.kubernetes.rows.row_table import ObjectWarning
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

_INVALID_INPUT: Final = 2
"""Exit code: the command line, a file or the journal must be corrected."""
_SERVER_FAILURE: Final = 3
"""Exit code: the API server failed; the same command may work later."""
_SHOWN: Final = 20
"""Maximum number of printed warnings; the others are counted."""


@contextmanager
def require_kubernetes_extra() -> Iterator[None]:
    """Print what to install if an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("lightkube", "httpx2", "msgspec"):
            raise
        fix = "in a checkout of Tenure: pip install . ./client/tenure-kubernetes"
        raise typer.BadParameter(f"{error.name} is not installed; {fix}") from None


@contextmanager
def report_api_errors() -> Iterator[None]:
    """End the command with a message and an exit code when the cluster or its journal fails."""
    from tenure.integration.ports import JournalUnreadable
    from tenure.kubernetes.api.api_errors import ApiError

    try:
        yield
    except JournalUnreadable as error:
        _end(str(error), _INVALID_INPUT)
    except ApiError as error:
        _end(f"API server request failed: {error}", _SERVER_FAILURE)


def _end(message: str, code: int) -> NoReturn:
    from tenure.wire.violations import printable_lines

    typer.echo(printable_lines(f"tenure: {message}"), err=True)
    raise typer.Exit(code) from None


def print_warnings(warnings: "Sequence[ObjectWarning]", unreadable: int) -> None:
    """Print warnings about objects to standard error."""
    for warned in warnings[:_SHOWN]:
        typer.echo(f"{warned.subject}: {warned.text}", err=True)
    if len(warnings) > _SHOWN:
        typer.echo(f"and {len(warnings) - _SHOWN:,} more warnings", err=True)
    if unreadable:
        typer.echo(f"{unreadable:,} unreadable objects omitted", err=True)


if TYPE_CHECKING:
    from tenure.kubernetes.api.object_caches import ObjectCaches
    from tenure.kubernetes.api.transport import Transport


def capture(
    output: Annotated[
        str, typer.Argument(metavar="FILE", help="Output file: .json, .yaml, .txtpb or .binpb.")
    ],
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Path to the kubeconfig. Default: in-cluster service account, then kubectl's search path.",
        ),
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = None,
    cluster_id: Annotated[str, typer.Option(metavar="NAME", help="Cluster ID.")] = "captured",
    scheduler_name: Annotated[
        str, typer.Option(metavar="NAME", help="Schedule pods with this schedulerName.")
    ] = "kai-scheduler",
    node_pool: Annotated[
        str,
        typer.Option(metavar="NAME", help="Value of the node pool label. Empty: objects without the label."),
    ] = "",
    node_pool_label: Annotated[
        str, typer.Option(metavar="LABEL", help="Label of node pools. Empty: the whole cluster.")
    ] = "kai.scheduler/node-pool",
    workload_api: Annotated[
        WorkloadApi, typer.Option(help="API of queues and pod groups. auto: all that the API server serves.")
    ] = WorkloadApi.AUTO,
) -> None:
    """Save a snapshot of a live cluster, as the adapter would push it. Only reads.

    tenure capture cluster.binpb && tenure decide cluster.binpb shows what Tenure would do.
    """
    with require_kubernetes_extra():
        from google.protobuf.timestamp_pb2 import Timestamp
        from lightkube.core.exceptions import ConfigError
        from tenure.kubernetes.api.api_errors import ApiError
        from tenure.kubernetes.api.object_caches import ObjectCaches
        from tenure.kubernetes.api.transport import Transport
        from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
        from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
        from tenure.kubernetes.owners.lookup import ApiOwnerLookup
    from tenure.client.snapshot_file import format_of, write_snapshot

    form = format_of(output)
    config = SnapshotScope(cluster_id, scheduler_name, node_pool, node_pool_label)
    caches = ObjectCaches.create(lambda: None)
    try:
        transport = Transport(kubeconfig, context)
    except (ConfigError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--kubeconfig") from None
    try:
        unreadable = _read(caches, transport, workload_api)
        now = Timestamp()
        now.GetCurrentTime()
        owners = ApiOwnerLookup(transport, patience=0, find_pod=caches.pods.find)
        builder = SnapshotBuilder(caches, config, owners)
        snapshot = builder.snapshot(now)
    except ApiError as failure:
        _end(f"API server request failed: {failure}", _SERVER_FAILURE)
    finally:
        transport.close()
    write_snapshot(snapshot, output, form)
    print_warnings(builder.warnings.take_new(), unreadable)
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes, {len(snapshot.queues):,} queues,")
    typer.echo(f"  {len(snapshot.pod_groups):,} pod groups, {len(snapshot.pods):,} pods")


def _read(caches: "ObjectCaches", transport: "Transport", api: WorkloadApi) -> int:
    """List every collection once. Returns the number of unreadable objects. Raises ApiError."""
    from tenure.kubernetes.api.object_caches import COLLECTIONS, unfollowed_collections

    reflectors = caches.follow(transport, unfollowed_collections(api))
    with typer.progressbar(reflectors, label="Listing", file=typer.get_text_stream("stderr")) as progress:
        for reflector in progress:
            reflector.list_once()
    return sum(getattr(caches, collection.name).unreadable_count for collection in COLLECTIONS)


def read_kai(file: Path, cluster_id: str, now: "datetime | None") -> "tuple[ClusterSnapshot, KaiSnapshot]":
    """Read a file for `tenure import kai`: the snapshot, and the configuration of the scheduler.

    Prints warnings. Raises typer.BadParameter if the file is not a snapshot.
    """
    with require_kubernetes_extra():
        from google.protobuf.timestamp_pb2 import Timestamp
        from tenure.kubernetes.kai_snapshot import KaiSnapshotError, import_kai, read_kai_snapshot

    at = None
    if now is not None:
        at = Timestamp()
        at.FromDatetime(now)
    try:
        source = read_kai_snapshot(file)
    except KaiSnapshotError as error:
        raise typer.BadParameter(str(error)) from None
    imported = import_kai(source, cluster_id, at)
    print_warnings(imported.warnings, imported.unreadable)
    return imported.snapshot, source
