"""Finding what a person named, and saying what is alike when there is no such thing.

How commands reach a server: options that `tenure decide` and `tenure workloads` share.

A state that a server keeps, read by a command.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

if TYPE_CHECKING:
    from tenure.client import Client


def refuse_config(config: Path | None) -> None:
    """Refuse a configuration that would be of no account."""
    if config:
        raise typer.BadParameter("a server decides with its own configuration", param_hint="--config")


class Connection(NamedTuple):
    """A server, and what is shown to it and asked of it."""

    server: str | None
    timeout: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    allow_plaintext: bool = False

    def client(self, server: str) -> "Client":
        """A client of the server."""
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
    typer.Option(metavar="ID", help="In place of SNAPSHOT: the state that --server keeps of this cluster."),
]
NodePool = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --cluster-id: its node pool, if any.")
]
_TRIES: Final = 5
"""How often a state is read that has changed again before it was decided on."""


def check_source(
    snapshot: str | None, server: str | None, cluster_id: str | None, node_pool: str | None
) -> None:
    """Refuse a command that names no state, two of them, or one without its server."""
    if (snapshot is None) == (cluster_id is None):
        raise typer.BadParameter("give either a file or --cluster-id", param_hint="SNAPSHOT")
    if cluster_id is not None and server is None:
        raise typer.BadParameter("needs --server, which keeps the state", param_hint="--cluster-id")
    if node_pool is not None and cluster_id is None:
        raise typer.BadParameter("goes with --cluster-id", param_hint="--node-pool")


def read_state_and_decide(
    connection: Connection, cluster_id: str, node_pool: str
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """The newest version of a kept state, and what is decided on it: simulated, so that nobody counts it."""
    from tenure.client.errors import StateMismatch

    assert connection.server is not None
    with connection.client(connection.server) as client:
        for _ in range(_TRIES - 1):
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
    return snapshot, client.simulate(SimulateRequest(state=state)).cycles[0]


if TYPE_CHECKING:
    from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

_MOST_ALIKE: Final = 5


def pod_group(snapshot: "ClusterSnapshot", name: str, hint: str) -> "PodGroup":
    """The pod group with this uid, name or NAMESPACE/NAME. Refuses what is unknown or not unique."""
    for names in _named(snapshot):
        if found := names.get(name):
            if len(found) == 1:
                return found[0]
            uids = ", ".join(sorted(group.uid for group in found)[:_MOST_ALIKE])
            raise typer.BadParameter(
                f"several pod groups are named {name!r}; say which: {uids}", param_hint=hint
            )
    known = {known for names in _named(snapshot) for known in names}
    raise typer.BadParameter(unknown_name_message("pod group", name, known), param_hint=hint)


def unknown_name_message(what: str, name: str, known: Iterable[str]) -> str:
    """That there is no such thing, and what is alike."""
    alike = get_close_matches(name, sorted(known), n=_MOST_ALIKE, cutoff=0.5)
    hint = f"; did you mean {', '.join(alike)}?" if alike else ""
    return f"there is no {what} {name!r}{hint}"


def _named(snapshot: "ClusterSnapshot") -> list[dict[str, list["PodGroup"]]]:
    """Pod groups by uid, by NAMESPACE/NAME and by name; the first that knows a name decides."""
    by_uid: dict[str, list[PodGroup]] = {}
    by_path: dict[str, list[PodGroup]] = {}
    by_name: dict[str, list[PodGroup]] = {}
    for group in snapshot.pod_groups:
        by_uid.setdefault(group.uid, []).append(group)
        by_name.setdefault(group.name or group.uid, []).append(group)
        if group.namespace:
            by_path.setdefault(f"{group.namespace}/{group.name}", []).append(group)
    return [by_uid, by_path, by_name]
