"""`tenure simulate`: what would be decided if something were different."""

from typing import TYPE_CHECKING, Annotated

import typer
from tenure.server.cli.connecting import BeyondLoopback, Connection, TlsCa, TlsCert, TlsKey, TokenFile
from tenure.server.cli.decide import Config, Form, Output, Server, SnapshotFile, Timeout

if TYPE_CHECKING:
    from tenure.server.view import View
    from tenure.v1.decision_service_pb2 import SimulateResponse
    from tenure.v1.simulate_pb2 import SimulateRequest
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


def simulate(
    snapshot: SnapshotFile,
    with_file: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="FILE", help="Rows to add or change; repeat it for several files."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=KEY", help="Take away a node, queue, pod_group or pod; may be repeated."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Decide at this time (RFC 3339), not at that of SNAPSHOT."),
    ] = None,
    cycles: Annotated[int, typer.Option(min=1, max=100, help="Cycles to play, decisions carried out.")] = 1,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Time between two cycles.")] = "1m",
    server: Server = None,
    config: Config = None,
    output: Annotated[Output, typer.Option(help="A table for people, JSON for programs.")] = Output.TABLE,
    form: Form = None,
    timeout: Timeout = "60s",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    insecure_beyond_loopback: BeyondLoopback = False,
) -> None:
    """Show what would be decided if something were different: who would start, and who would be evicted.

    The files of --with are written like SNAPSHOT and hold only what is new or different, row by row. This
    one gives a queue a larger quota and submits a job of one pod:

    \b
      queues:
        - {name: vision, parent: research, gpu_milli: {quota: 6000}}
      pod_groups:
        - {uid: probe, name: probe, queue: vision, priority: 60,
           creation_time: "2025-03-03T10:35:00Z"}
      pods:
        - {uid: probe-0, pod_group: probe, shape: one-gpu, status: POD_STATUS_PENDING}

    \b
      tenure simulate cluster.yaml --with bigger.yaml
      tenure simulate cluster.yaml --without node=gpu-4 --cycles 5 --interval 1m

    A pod group is taken away with its pods; pods of a node that is taken away wait again. With several
    cycles, bound pods run and evicted ones wait again in the cycle after. Nothing is started, evicted or
    remembered. With --output json the answers of all cycles are printed, as tenure.v1.SimulateResponse.

    Exit codes: 0 simulated; 2 the command line, a file or the snapshot must be mended; 3 the server failed.
    """
    from tenure.server.cli.asking import read, simulated

    plain = _request(read(snapshot, form), now, cycles, interval)
    changed = _changed(plain, with_file or [], without or [])
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, insecure_beyond_loopback)
    answer = simulated(changed, connection, config)
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
        return
    from rich.console import Console
    from tenure.server.report.simulation import print_simulation

    plain.ClearField("now")
    before = simulated(plain, connection, config)
    print_simulation(Console(), _views(plain, before), _views(changed, answer))


def _request(snapshot: "ClusterSnapshot", now: str | None, cycles: int, interval: str) -> "SimulateRequest":
    """The snapshot as it is."""
    from tenure.server.codec.times import span
    from tenure.solver.model.duration import parse_duration
    from tenure.v1.simulate_pb2 import SimulateRequest

    try:
        between = span(parse_duration(interval))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--interval") from None
    request = SimulateRequest(snapshot=snapshot, cycles=cycles, interval=between)
    if now is not None:
        try:
            request.now.FromJsonString(now)
        except ValueError:
            told = f"{now!r} is not a time; write it like 2025-03-03T10:42:00Z"
            raise typer.BadParameter(told, param_hint="--now") from None
    return request


def _changed(plain: "SimulateRequest", files: list[str], without: list[str]) -> "SimulateRequest":
    """The same with what is new, different and gone."""
    from tenure.client.snapshot_file import read_snapshot
    from tenure.server.cli.without import take_away
    from tenure.v1.simulate_pb2 import SimulateRequest

    request = SimulateRequest()
    request.CopyFrom(plain)
    for file in files:
        request.upserts.MergeFrom(read_snapshot(file))
    take_away(request, without)
    return request


def _views(request: "SimulateRequest", response: "SimulateResponse") -> "list[View]":
    """The answers beside the rows they are about; names of the rows that were there before are known too."""
    from tenure.server.state.overlay import overlay
    from tenure.server.view import View

    laid = overlay(request.snapshot, request.upserts, request.removes).snapshot
    views = []
    for answer in response.cycles:
        rows = type(laid)()
        rows.CopyFrom(laid)
        rows.now.CopyFrom(answer.based_on.now)
        views.append(View(rows, answer))
    return views
