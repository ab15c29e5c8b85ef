"""`tenure simulate`: decisions on a changed snapshot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.cli.options import Connection, Form, Server, SnapshotFile, Starts, Timeout
from tenure.cli.what_if.removals import remove
from tenure.cli.what_if.submitted_job import add_job, is_job, parse_job
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.render.response_view import ResponseView
    from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


def simulate(
    snapshot: SnapshotFile,
    added: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="JOB|FILE",
            help="Job to submit, or file with new and changed rows. Repeatable.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=KEY", help="Remove a node, queue, pod_group or pod. Repeatable."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of the cycle (RFC 3339) instead of the time of SNAPSHOT."),
    ] = None,
    cycles: Annotated[
        int, typer.Option(min=1, max=100, help="Number of cycles; decisions are applied between them.")
    ] = 1,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Time between cycles.")] = "1m",
    server: Server = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with this scheduler configuration."),
    ] = None,
    in_force: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Scheduler configuration in force, instead of the default profile. Not with --server.",
        ),
    ] = None,
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
    """Compare decisions with and without changes, or play cycles without a change.

    \b
      tenure simulate cluster.yaml --with "queue=vision gpus=2 pods=4 priority=60"
      tenure simulate cluster.yaml --with bigger.yaml
      tenure simulate cluster.yaml --without node=gpu-4 --cycles 5 --interval 1m
      tenure simulate cluster.yaml --config other.yaml --cycles 60

    A job of --with has the keys queue, gpus and cpus of each pod (1 and 0), pods (1), priority (50), name and
    preemptibility (Preemptible, Non-Preemptible or Semi-Preemptible; else the priority decides). Its pods
    start together. A part of a GPU is gpus=0.5.

    A file of --with has the format of SNAPSHOT, with new and changed rows only. This one raises the quota of
    a queue:

    \b
      queues:
        - {name: vision, parent: research, gpu_milli: {quota: 6000}}

    --config compares the configuration in force with another one: the configuration of the server, that of
    --in-force, or else the default profile.

    A pod group is removed with its pods; pods of a removed node become pending. With several cycles, bound
    pods run and evicted pods are pending in the next cycle; equal cycles are shown once. There are no side
    effects. --output json prints all cycles with the changes as tenure.v1.SimulateResponse.

    Exit status: 0 simulated; 2 invalid command line, file or snapshot; 3 the server failed.
    """
    from tenure.cli.local_or_remote import read_for_local, request_simulation

    if server and in_force:
        raise typer.BadParameter("the configuration of the server is in force", param_hint="--in-force")
    plain = _request(read_for_local(snapshot, form), now, cycles, interval)
    plain.estimate_starts = starts
    changed = _changed(plain, added or [], without or [])
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    other = connection._replace(server=None) if config else connection
    answer = request_simulation(changed, other, config or in_force)
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
        return
    from tenure.render.simulation import print_cycles, print_simulation, print_start_estimates
    from tenure.render.terminal import TerminalConsole

    views = _views(changed, answer)
    if not (config or added or without or now):
        print_cycles(TerminalConsole(), views)
        if starts:
            print_start_estimates(TerminalConsole(), answer.cycles[0].start_estimates, _laid(changed))
        return
    if config:
        is_more = bool(added or without)
        headings = ("In force", f"With {config.name}{' and the changes' if is_more else ''}")
    else:
        plain.ClearField("now")
        headings = ("Baseline", "With the changes")
    before = request_simulation(plain, connection, in_force)
    print_simulation(TerminalConsole(), _views(plain, before), views, headings)
    if starts:
        earlier = before.cycles[0].start_estimates
        print_start_estimates(TerminalConsole(), answer.cycles[0].start_estimates, _laid(changed), earlier)


def _request(snapshot: "ClusterSnapshot", now: str | None, cycles: int, interval: str) -> "SimulateRequest":
    """Request without the changes."""
    from tenure.terms.durations import parse_duration
    from tenure.v1.simulate_pb2 import SimulateRequest
    from tenure.wire.timestamps import span

    try:
        between = span(parse_duration(interval))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--interval") from None
    request = SimulateRequest(snapshot=snapshot, cycles=cycles, interval=between)
    if now is not None:
        try:
            request.now.FromJsonString(now)
        except ValueError:
            message = f"{now!r} is not a time; use RFC 3339, such as 2025-03-03T10:42:00Z"
            raise typer.BadParameter(message, param_hint="--now") from None
    return request


def _changed(plain: "SimulateRequest", added: list[str], without: list[str]) -> "SimulateRequest":
    """Request with added, changed and removed rows. Jobs may be in queues of files."""
    from tenure.client.snapshot_file import read_snapshot
    from tenure.v1.simulate_pb2 import SimulateRequest

    request = SimulateRequest()
    request.CopyFrom(plain)
    for file in added:
        if not is_job(file):
            request.upserts.MergeFrom(read_snapshot(file))
    for text in added:
        if is_job(text):
            add_job(request, parse_job(text))
    remove(request, without)
    return request


def _views(request: "SimulateRequest", response: "SimulateResponse") -> "list[ResponseView]":
    """Views of the responses. Names of removed rows are known too."""
    from tenure.render.response_view import ResponseView

    laid = _laid(request)
    return [ResponseView(laid, cycle) for cycle in response.cycles]


def _laid(request: "SimulateRequest") -> "ClusterSnapshot":
    """The snapshot with the changes, at the time of the first cycle."""
    from tenure.wire.deltas import overlay

    laid = overlay(request.snapshot, request.upserts, request.removals).snapshot
    if request.HasField("now"):
        laid.now.CopyFrom(request.now)
    return laid
