"""`tenure simulate`: decisions on a changed snapshot."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.decide import Config, Form, Server, SnapshotFile, Timeout
from tenure.cli.options import Connection, pod_group, unknown_name_message
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.v1.simulate_pb2 import SimulateRequest

HINT: Final = "--without"


def remove(request: "SimulateRequest", what: Iterable[str]) -> None:
    """Remove objects from the snapshot, with everything that depends on them.

    A pod group is removed with its pods. Pods of a removed node become pending.
    """
    for each in what:
        kind, equals, key = each.partition("=")
        if not equals or kind not in _KINDS:
            raise typer.BadParameter(
                f"{each!r} is not KIND=KEY with a kind of {', '.join(_KINDS)}", param_hint=HINT
            )
        _KINDS[kind](request, key)


def _remove_node(request: "SimulateRequest", name: str) -> None:
    from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING

    _require("node", name, (node.name for node in request.snapshot.nodes))
    request.removals.nodes.append(name)
    changed = {pod.uid for pod in request.upserts.pods}
    for pod in request.snapshot.pods:
        if pod.node == name and pod.uid not in changed:
            waiting = request.upserts.pods.add()
            waiting.CopyFrom(pod)
            waiting.status = POD_STATUS_PENDING
            for field in ("node", "gpu_groups", "numa_placement"):
                waiting.ClearField(field)


def _remove_queue(request: "SimulateRequest", name: str) -> None:
    _require("queue", name, (queue.name for queue in request.snapshot.queues))
    request.removals.queues.append(name)


def _remove_pod_group(request: "SimulateRequest", name: str) -> None:
    uid = pod_group(request.snapshot, name, HINT).uid
    request.removals.pod_groups.append(uid)
    request.removals.pods.extend(pod.uid for pod in request.snapshot.pods if pod.pod_group == uid)


def _remove_pod(request: "SimulateRequest", uid: str) -> None:
    _require("pod", uid, (pod.uid for pod in request.snapshot.pods))
    request.removals.pods.append(uid)


def _require(kind: str, key: str, known: Iterable[str]) -> None:
    names = set(known)
    if key not in names:
        raise typer.BadParameter(unknown_name_message(kind, key, names), param_hint=HINT)


_KINDS: Final[dict[str, Callable[["SimulateRequest", str], None]]] = {
    "node": _remove_node,
    "queue": _remove_queue,
    "pod_group": _remove_pod_group,
    "pod": _remove_pod,
}
"""Kinds of objects that can be removed."""


if TYPE_CHECKING:
    from tenure.render.response_view import ResponseView
    from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


def simulate(
    snapshot: SnapshotFile,
    with_file: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="FILE", help="File with rows to add or change. Repeatable."),
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
    config: Config = None,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
    form: Form = None,
    timeout: Timeout = "60s",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
) -> None:
    """Compare decisions with and without changes.

    Files of --with have the format of SNAPSHOT, with new and changed rows only. This one raises the quota of
    a queue and submits a pod group with one pod:

    \b
      queues:
        - {name: vision, parent: research, gpu_milli: {quota: 6000}}
      pod_groups:
        - {uid: probe, name: probe, queue: vision, priority: 60,
           creation_time: "2025-03-03T10:35:00Z"}
      pods:
        - {uid: probe-0, pod_group: probe, shape: one-gpu, status: PENDING}

    \b
      tenure simulate cluster.yaml --with bigger.yaml
      tenure simulate cluster.yaml --without node=gpu-4 --cycles 5 --interval 1m

    A pod group is removed with its pods; pods of a removed node become pending. With several cycles, bound
    pods run and evicted pods are pending in the next cycle. There are no side effects. --output json prints
    all cycles as tenure.v1.SimulateResponse.

    Exit status: 0 simulated; 2 invalid command line, file or snapshot; 3 the server failed.
    """
    from tenure.cli.local_or_remote import read_for_local, request_simulation

    plain = _request(read_for_local(snapshot, form), now, cycles, interval)
    changed = _changed(plain, with_file or [], without or [])
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    answer = request_simulation(changed, connection, config)
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
        return
    from tenure.render.simulation import print_simulation
    from tenure.render.terminal import TerminalConsole

    plain.ClearField("now")
    before = request_simulation(plain, connection, config)
    print_simulation(TerminalConsole(), _views(plain, before), _views(changed, answer))


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


def _changed(plain: "SimulateRequest", files: list[str], without: list[str]) -> "SimulateRequest":
    """Request with added, changed and removed rows."""
    from tenure.client.snapshot_file import read_snapshot
    from tenure.v1.simulate_pb2 import SimulateRequest

    request = SimulateRequest()
    request.CopyFrom(plain)
    for file in files:
        request.upserts.MergeFrom(read_snapshot(file))
    remove(request, without)
    return request


def _views(request: "SimulateRequest", response: "SimulateResponse") -> "list[ResponseView]":
    """Views of the responses. Names of removed rows are known too."""
    from tenure.render.response_view import ResponseView
    from tenure.wire.deltas import overlay

    laid = overlay(request.snapshot, request.upserts, request.removals).snapshot
    views = []
    for answer in response.cycles:
        rows = type(laid)()
        rows.CopyFrom(laid)
        rows.now.CopyFrom(answer.header.now)
        views.append(ResponseView(rows, answer))
    return views
