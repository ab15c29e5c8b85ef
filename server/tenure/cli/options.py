"""Options and lookups that commands share: snapshots, server connections, pushed states, pod groups."""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer
from tenure.wire.violations import escape_control_characters

if TYPE_CHECKING:
    from tenure.client import Client


class SnapshotFormat(StrEnum):
    """Format of a snapshot; values of `tenure.client.snapshot_file.Format`."""

    JSON = "json"
    YAML = "yaml"
    TEXT = "text"
    BINARY = "binary"


SnapshotFile = Annotated[
    str, typer.Argument(metavar="SNAPSHOT", help="File with the snapshot; - reads standard input.")
]
Server = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Send the request to this server instead of deciding in this process."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Scheduler configuration. Cannot be used with --server."),
]
Form = Annotated[
    SnapshotFormat | None,
    typer.Option("--format", help="Format of SNAPSHOT if the file name has no known extension."),
]
Starts = Annotated[
    bool,
    typer.Option(
        "--when-starts", help="Show each pending pod group's place in its queue and estimated start."
    ),
]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="Deadline of the request to --server.")]


def refuse_config(config: Path | None) -> None:
    """Reject --config together with --server."""
    if config:
        raise typer.BadParameter("the server uses its own configuration", param_hint="--config")


class Connection(NamedTuple):
    """Server and credentials from the command line."""

    server: str | None
    timeout: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    allow_plaintext: bool = False

    def client(self, server: str) -> "Client":
        """Connect to the server."""
        from tenure.client import Client
        from tenure.terms.durations import SECOND, parse_duration

        try:
            seconds = parse_duration(self.timeout) / SECOND
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--timeout") from None
        return Client(
            server,
            timeout=seconds,
            tls_ca=self.tls_ca,
            tls_cert=self.tls_cert,
            tls_key=self.tls_key,
            token_file=self.token_file,
            allow_plaintext=self.allow_plaintext,
        )


if TYPE_CHECKING:
    from tenure.client import Client
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

Cluster = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Use the pushed state of this cluster on --server instead of SNAPSHOT."),
]
NodePool = Annotated[
    str | None, typer.Option(metavar="NAME", help="Node pool of the state, with --cluster-id.")
]
_MAX_ATTEMPTS: Final = 5
"""Attempts to decide on a state that changes concurrently."""


def check_source(
    snapshot: str | None, server: str | None, cluster_id: str | None, node_pool: str | None
) -> None:
    """Reject a command without a snapshot, with two, or with a state but no server."""
    if (snapshot is None) == (cluster_id is None):
        raise typer.BadParameter("requires either a file or --cluster-id", param_hint="SNAPSHOT")
    if cluster_id is not None and server is None:
        raise typer.BadParameter("requires --server", param_hint="--cluster-id")
    if node_pool is not None and cluster_id is None:
        raise typer.BadParameter("requires --cluster-id", param_hint="--node-pool")


def read_state_and_decide(
    connection: Connection, cluster_id: str, node_pool: str
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """Newest version of a pushed state, and the decisions on it with statuses of pod groups. Simulated, so
    there are no side effects.
    """
    from tenure.client.errors import StateMismatch

    assert connection.server is not None
    with connection.client(connection.server) as client:
        for _ in range(_MAX_ATTEMPTS - 1):
            try:
                return _read_and_decide(client, cluster_id, node_pool)
            except StateMismatch as stale:
                if stale.code != "VERSION_GAP":
                    raise
        return _read_and_decide(client, cluster_id, node_pool)


def _read_and_decide(
    client: "Client", cluster_id: str, node_pool: str
) -> "tuple[ClusterSnapshot, DecideResponse]":
    from tenure.v1.simulate_pb2 import SimulateRequest

    state, snapshot = client.get_state(cluster_id, node_pool)
    request = SimulateRequest(state=state, include_pod_group_statuses=True)
    return snapshot, client.simulate(request).cycles[0]


if TYPE_CHECKING:
    from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

_MAX_SIMILAR: Final = 5


def pod_group(snapshot: "ClusterSnapshot", name: str, hint: str) -> "PodGroup":
    """Pod group by uid, name or NAMESPACE/NAME. Raises BadParameter if it is unknown or ambiguous."""
    for names in _named(snapshot):
        if found := names.get(name):
            if len(found) == 1:
                return found[0]
            uids = escape_control_characters(", ".join(sorted(group.uid for group in found)[:_MAX_SIMILAR]))
            raise typer.BadParameter(f"ambiguous pod group {name!r}; use one of {uids}", param_hint=hint)
    known = {known for names in _named(snapshot) for known in names}
    raise typer.BadParameter(unknown_name_message("pod group", name, known), param_hint=hint)


def unknown_name_message(what: str, name: str, known: Iterable[str]) -> str:
    """Error message for an unknown name, with similar names."""
    similar = get_close_matches(name, sorted(known), n=_MAX_SIMILAR, cutoff=0.5)
    hint = f"; did you mean {', '.join(similar)}?" if similar else ""
    return escape_control_characters(f"unknown {what} {name!r}{hint}")


def _named(snapshot: "ClusterSnapshot") -> list[dict[str, list["PodGroup"]]]:
    """Pod groups by uid, by NAMESPACE/NAME and by name, in order of precedence."""
    by_uid: dict[str, list[PodGroup]] = {}
    by_path: dict[str, list[PodGroup]] = {}
    by_name: dict[str, list[PodGroup]] = {}
    for group in snapshot.pod_groups:
        by_uid.setdefault(group.uid, []).append(group)
        by_name.setdefault(group.name or group.uid, []).append(group)
        if group.namespace:
            by_path.setdefault(f"{group.namespace}/{group.name}", []).append(group)
    return [by_uid, by_path, by_name]
