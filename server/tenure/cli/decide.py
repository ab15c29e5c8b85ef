"""`tenure decide`: one cycle on a snapshot from a file."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.cli.options import Connection, refuse_config
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


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
Actions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Run only this action; repeat it for several, in order."),
]
Form = Annotated[
    SnapshotFormat | None,
    typer.Option("--format", help="Format of SNAPSHOT if the file name has no known extension."),
]
Starts = Annotated[
    bool,
    typer.Option("--when-starts", help="Tell the places of pod groups that wait, and when they start."),
]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="Deadline of the request to --server.")]


def decide(
    snapshot: SnapshotFile,
    server: Server = None,
    config: Config = None,
    action: Actions = None,
    starts: Starts = False,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
    form: Form = None,
    timeout: Timeout = "60s",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
) -> None:
    """Decide on a snapshot and print a report.

    For the first pending pod groups, the report says what would let them start. That is tested, as by `tenure
    explain`, on clusters of up to 2,000 pods.

    SNAPSHOT is JSON, YAML, text or binary protobuf of tenure.v1.ClusterSnapshot, by its file name extension.

    Exit status: 0 decided; 2 invalid command line, file or snapshot; 3 the server failed.
    """
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    read, response = read_and_decide(snapshot, form, connection, config, action or [])
    if starts:
        from tenure.cli.local_or_remote import find_start_estimates

        response.start_estimates.extend(find_start_estimates(read, connection, config))
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(response, preserving_proto_field_name=True))
        return
    from tenure.cli.local_or_remote import find_tested_remedies
    from tenure.render import print_report
    from tenure.render.terminal import TerminalConsole

    remedies = {} if action else find_tested_remedies(read, response, connection, config)
    print_report(TerminalConsole(), read, response, remedies)
    if starts:
        from tenure.render.simulation import print_start_estimates

        print_start_estimates(TerminalConsole(), response.start_estimates, read)


def read_and_decide(
    file: str,
    form: SnapshotFormat | None,
    connection: Connection,
    config: Path | None,
    actions: list[str],
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """Read a snapshot, and decide on a server or in this process."""
    from tenure.client.snapshot_file import Format, read_snapshot

    if connection.server:
        refuse_config(config)
    snapshot = read_snapshot(file, Format(form) if form else None)
    if connection.server:
        with connection.client(connection.server) as client:
            return snapshot, client.decide(snapshot, actions)
    return snapshot, _decide_here(snapshot, actions, config)


def _decide_here(snapshot: "ClusterSnapshot", actions: list[str], config: Path | None) -> "DecideResponse":
    from tenure.codec.engine import Engine
    from tenure.server.garbage_collection import pause_gc
    from tenure.server.installed import installed_registry
    from tenure.server.settings import load_settings
    from tenure.v1.decide_pb2 import DecideRequest

    engine = Engine(load_settings(config).profile, installed_registry(), pause_gc)
    return engine.decide(DecideRequest(snapshot=snapshot, actions=actions)).parse()
