"""`tenure decide`: one cycle on a snapshot from a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.cli.local_or_remote import find_start_estimates, find_tested_remedies
from tenure.cli.options import (
    Config,
    Connection,
    Form,
    Server,
    SnapshotFile,
    SnapshotFormat,
    Starts,
    Timeout,
    refuse_config,
)
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.v1.decide_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


Actions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Run only this action; repeat it for several, in order."),
]


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
        response.start_estimates.extend(find_start_estimates(read, connection, config))
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(response, preserving_proto_field_name=True))
        return
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
    with_statuses: bool = False,
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """Read a snapshot, and decide on a server or in this process, `with_statuses` of its pod groups."""
    from tenure.client.snapshot_file import Format, read_snapshot

    if connection.server:
        refuse_config(config)
    snapshot = read_snapshot(file, Format(form) if form else None)
    if connection.server:
        with connection.client(connection.server) as client:
            answer = client.decide(snapshot, actions, include_pod_group_statuses=with_statuses)
            return snapshot, answer
    return snapshot, _decide_here(snapshot, actions, config, with_statuses)


def _decide_here(
    snapshot: "ClusterSnapshot", actions: list[str], config: Path | None, with_statuses: bool
) -> "DecideResponse":
    from tenure.codec.engine import Engine
    from tenure.server.garbage_collection import pause_gc
    from tenure.server.installed import installed_registry
    from tenure.server.settings import load_settings
    from tenure.v1.decide_pb2 import DecideRequest

    engine = Engine(load_settings(config).profile, installed_registry(), pause_gc)
    request = DecideRequest(snapshot=snapshot, actions=actions, include_pod_group_statuses=with_statuses)
    return engine.decide(request).parse()
