"""`tenure capture`: a snapshot of a live cluster."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.server.cli.kubernetes import in_kubernetes_extra, tell_doubts

if TYPE_CHECKING:
    from tenure.client.kubernetes.observe.mirrors import Mirrors
    from tenure.client.kubernetes.transport import Transport


class WorkloadApi(StrEnum):
    """Whose queues and pod groups are read."""

    AUTO = "auto"
    KAI = "kai"
    VOLCANO = "volcano"


def capture(
    output: Annotated[
        str, typer.Argument(metavar="FILE", help="Where it goes; .json, .yaml, .txtpb or .binpb.")
    ],
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Kubeconfig; else the one that kubectl would use.")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")] = None,
    cluster_id: Annotated[str, typer.Option(metavar="NAME", help="What to call the cluster.")] = "captured",
    scheduler_name: Annotated[
        str, typer.Option(metavar="NAME", help="Whose pods are scheduled; others only take room.")
    ] = "kai-scheduler",
    node_pool: Annotated[
        str, typer.Option(metavar="NAME", help="Value of the label of the node pool; empty: without it.")
    ] = "",
    node_pool_label: Annotated[
        str, typer.Option(metavar="LABEL", help="Label of node pools; empty: the whole cluster.")
    ] = "kai.scheduler/node-pool",
    workload_api: Annotated[
        WorkloadApi, typer.Option(help="Whose queues and pod groups are read; auto: all that are served.")
    ] = WorkloadApi.AUTO,
) -> None:
    """A snapshot of a live cluster, as the adapter would push it. Only reads.

    tenure capture cluster.binpb && tenure decide cluster.binpb shows what Tenure would do.
    """
    with in_kubernetes_extra():
        from google.protobuf.timestamp_pb2 import Timestamp
        from lightkube.core.exceptions import ConfigError
        from tenure.client.kubernetes.failures import ApiFailure
        from tenure.client.kubernetes.observe.config import PictureConfig
        from tenure.client.kubernetes.observe.mirrors import Mirrors
        from tenure.client.kubernetes.observe.owners import ApiOwners
        from tenure.client.kubernetes.observe.picture import Picture
        from tenure.client.kubernetes.transport import Transport
    from tenure.client.snapshot_file import format_of, write_snapshot

    form = format_of(output)
    config = PictureConfig(cluster_id, scheduler_name, node_pool, node_pool_label)
    mirrors = Mirrors.waking(lambda: None)
    try:
        transport = Transport(kubeconfig, context)
    except (ConfigError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--kubeconfig") from None
    try:
        unreadable = _read(mirrors, transport, workload_api)
        now = Timestamp()
        now.GetCurrentTime()
        picture = Picture(mirrors, config, ApiOwners(transport, patience=0))
        snapshot = picture.snapshot(now)
    except ApiFailure as failure:
        typer.echo(f"tenure: the API server does not tell: {failure}", err=True)
        raise typer.Exit(3) from None
    finally:
        transport.close()
    write_snapshot(snapshot, output, form)
    tell_doubts(picture.warnings.take(), unreadable)
    typer.echo(f"{output}: {len(snapshot.nodes):,} nodes, {len(snapshot.queues):,} queues,")
    typer.echo(f"  {len(snapshot.pod_groups):,} pod groups, {len(snapshot.pods):,} pods")


def _read(mirrors: "Mirrors", transport: "Transport", api: WorkloadApi) -> int:
    """List every collection once; how many objects cannot be read. Raises ApiFailure."""
    from tenure.client.kubernetes.observe.mirrors import COLLECTIONS, WORKLOAD_APIS

    without = frozenset[str]()
    if api is not WorkloadApi.AUTO:
        without = frozenset[str]().union(*(names for name, names in WORKLOAD_APIS.items() if name != api))
    reflectors = mirrors.follow(transport, without)
    with typer.progressbar(reflectors, label="Listing", file=typer.get_text_stream("stderr")) as progress:
        for reflector in progress:
            reflector.list_once()
    return sum(getattr(mirrors, collection.name).unreadable_count for collection in COLLECTIONS)
