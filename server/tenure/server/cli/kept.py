"""A state that a server keeps, read by a command."""

from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.server.cli.connecting import Connection

if TYPE_CHECKING:
    from tenure.client import Client
    from tenure.v1.decision_service_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

Cluster = Annotated[
    str | None,
    typer.Option(metavar="ID", help="In place of SNAPSHOT: the state that --server keeps of this cluster."),
]
NodePool = Annotated[str | None, typer.Option(metavar="NAME", help="With --cluster: its node pool, if any.")]
_TRIES: Final = 5
"""How often a state is read that has changed again before it was decided on."""


def check_source(
    snapshot: str | None, server: str | None, cluster: str | None, node_pool: str | None
) -> None:
    """Refuse a command that names no state, two of them, or one without its server."""
    if (snapshot is None) == (cluster is None):
        raise typer.BadParameter("give either a file or --cluster", param_hint="SNAPSHOT")
    if cluster is not None and server is None:
        raise typer.BadParameter("needs --server, which keeps the state", param_hint="--cluster")
    if node_pool is not None and cluster is None:
        raise typer.BadParameter("goes with --cluster", param_hint="--node-pool")


def read_kept_and_decide(
    connection: Connection, cluster: str, node_pool: str
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """The newest version of a kept state, and what is decided on it: simulated, so that nobody counts it."""
    from tenure.client.errors import StaleState

    assert connection.server is not None
    with connection.client(connection.server) as client:
        for _ in range(_TRIES - 1):
            try:
                return _read_and_decide(client, cluster, node_pool)
            except StaleState as stale:
                if stale.code != "VERSION_GAP":
                    raise
        return _read_and_decide(client, cluster, node_pool)


def _read_and_decide(
    client: "Client", cluster: str, node_pool: str
) -> "tuple[ClusterSnapshot, DecideResponse]":
    from tenure.v1.simulate_pb2 import SimulateRequest

    state, snapshot = client.get_state(cluster, node_pool)
    return snapshot, client.simulate(SimulateRequest(state=state)).cycles[0]
