"""`tenure explain`: why a pod group is pending, evicted, not evicted or protected, and when it starts."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.cli.options import Config, Connection, Form, Server, SnapshotFile, Timeout
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.v1.explain_pb2 import ExplainRequest
    from tenure.v1.snapshot_pb2 import ClusterSnapshot


class ExplainTopic(StrEnum):
    """Question about a pod group."""

    WHY_PENDING = "why-pending"
    WHY_VICTIM = "why-victim"
    WHY_NOT_VICTIM = "why-not-victim"
    PROTECTED_UNTIL = "protected-until"
    WHEN_STARTS = "when-starts"


class Audience(StrEnum):
    """Audience of the text."""

    PUBLIC = "public"
    TENANT = "tenant"
    OPERATOR = "operator"


def explain(
    snapshot: SnapshotFile,
    topic: Annotated[ExplainTopic, typer.Argument(help="What to explain.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Pod group: its name, NAMESPACE/NAME or uid. Default, with when-starts: all that wait.",
        ),
    ] = None,
    preemptor: Annotated[
        str | None,
        typer.Option("--for", metavar="NAME", help="With why-not-victim: the pending pod group."),
    ] = None,
    audience: Annotated[
        Audience, typer.Option(help="Audience: the text names other workloads only for operators.")
    ] = Audience.OPERATOR,
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
    """Explain the decision on a pod group.

    \b
      why-pending NAME         why it is pending, and verified remedies
      why-victim NAME          why its pods are evicted
      why-not-victim NAME --for NAME  why it is not evicted for a pending pod group
      protected-until NAME     who may not evict it, until when, and by whose word
      when-starts [NAME]       its place in its queue, and when it starts if nothing new arrives

    For example: tenure explain cluster.yaml why-not-victim old-job --for new-job

    SNAPSHOT is a file as for `tenure decide`. The explanation depends on it alone. There are no side effects.

    Exit status: 0 explained; 2 invalid command line, file or snapshot; 3 the server failed.
    """
    from tenure.cli.local_or_remote import read_for_local, request_explanation

    if (topic is ExplainTopic.WHY_NOT_VICTIM) != (preemptor is not None):
        raise typer.BadParameter("is required with why-not-victim, and invalid otherwise", param_hint="--for")
    if name is None and topic is not ExplainTopic.WHEN_STARTS:
        raise typer.BadParameter("is missing", param_hint="NAME")
    read = read_for_local(snapshot, form)
    request = _request(read, topic, name, preemptor)
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    answer = request_explanation(request, connection, config)
    if output is Output.JSON:
        from google.protobuf.json_format import MessageToJson
        from tenure.render.simulation import readable_by

        typer.echo(MessageToJson(readable_by(answer, audience), preserving_proto_field_name=True))
        return
    from tenure.render.simulation import print_explanation, print_start_estimates
    from tenure.render.terminal import TerminalConsole

    print_explanation(TerminalConsole(), answer, audience)
    if name is None and audience is Audience.OPERATOR:
        print_start_estimates(TerminalConsole(), answer.start_estimates, read)


def _request(
    snapshot: "ClusterSnapshot", topic: ExplainTopic, name: str | None, preemptor: str | None
) -> "ExplainRequest":
    from tenure.cli.options import pod_group
    from tenure.v1 import explain_pb2 as pb

    request = pb.ExplainRequest(snapshot=snapshot)
    if name is None:
        request.when_starts.SetInParent()
        return request
    uid = pod_group(snapshot, name, "NAME").uid
    match topic:
        case ExplainTopic.WHEN_STARTS:
            request.when_starts.pod_groups.append(uid)
        case ExplainTopic.WHY_PENDING:
            request.why_pending.pod_group = uid
        case ExplainTopic.WHY_VICTIM:
            request.why_victim.pod_group = uid
        case ExplainTopic.PROTECTED_UNTIL:
            request.protected_until.pod_group = uid
        case ExplainTopic.WHY_NOT_VICTIM:
            assert preemptor is not None
            request.why_not_victim.pod_group = uid
            request.why_not_victim.preemptor = pod_group(snapshot, preemptor, "--for").uid
    return request
