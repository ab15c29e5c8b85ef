"""`tenure decide`: one decision on a snapshot in a file."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tenure.v1.decision_service_pb2 import DecideResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


class Output(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    JSON = "json"


class SnapshotFormat(StrEnum):
    """How the snapshot is written down; the values of `tenure.client.formats.Format`."""

    JSON = "json"
    YAML = "yaml"
    TEXT = "text"
    BINARY = "binary"


SnapshotFile = Annotated[
    str, typer.Argument(metavar="SNAPSHOT", help="File with the snapshot; - reads standard input.")
]
Server = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Ask this server instead of deciding in this process."),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Scheduler configuration. Not with --server, which has its own."),
]
Actions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Run only this action; repeat it for several, in order."),
]
Form = Annotated[
    SnapshotFormat | None,
    typer.Option("--format", help="Format of SNAPSHOT, when its name does not tell."),
]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="How long to wait for --server.")]


def decide(
    snapshot: SnapshotFile,
    server: Server = None,
    config: Config = None,
    action: Actions = None,
    output: Annotated[Output, typer.Option(help="A table for people, JSON for programs.")] = Output.TABLE,
    form: Form = None,
    timeout: Timeout = "60s",
) -> None:
    """Decide once on a snapshot: who runs, who waits, who yields, and who is protected until when.

    SNAPSHOT is JSON, YAML, text or binary protobuf of tenure.v1.ClusterSnapshot, by the ending of its name.

    Exit codes: 0 decided; 2 the command line, a file or the snapshot must be mended; 3 the server failed.
    """
    _print(*read_and_decide(snapshot, form, server, config, action or [], timeout), output)


def read_and_decide(
    file: str,
    form: SnapshotFormat | None,
    server: str | None,
    config: Path | None,
    actions: list[str],
    timeout: str,
) -> "tuple[ClusterSnapshot, DecideResponse]":
    """The snapshot of a file and the decision on it, by a server or in this process."""
    from tenure.client.formats import Format
    from tenure.client.snapshot_file import read_snapshot

    if server and config:
        raise typer.BadParameter("a server decides with its own configuration", param_hint="--config")
    snapshot = read_snapshot(file, Format(form) if form else None)
    if server:
        return snapshot, _ask(server, snapshot, actions, timeout)
    return snapshot, _decide_here(snapshot, actions, config)


def _ask(server: str, snapshot: "ClusterSnapshot", actions: list[str], timeout: str) -> "DecideResponse":
    from tenure.client import Client
    from tenure.solver.model.duration import SECOND, parse_duration

    try:
        seconds = parse_duration(timeout) / SECOND
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from None
    with Client(server, timeout=seconds) as client:
        return client.decide(snapshot, actions)


def _decide_here(snapshot: "ClusterSnapshot", actions: list[str], config: Path | None) -> "DecideResponse":
    from tenure.server.engine import Engine
    from tenure.server.settings import load_settings
    from tenure.v1.decision_service_pb2 import DecideRequest

    engine = Engine(load_settings(config).profile)
    return engine.decide(DecideRequest(snapshot=snapshot, actions=actions))


def _print(snapshot: "ClusterSnapshot", response: "DecideResponse", output: Output) -> None:
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(response, preserving_proto_field_name=True))
        return
    from rich.console import Console
    from tenure.server.report import print_report

    print_report(Console(), snapshot, response)
