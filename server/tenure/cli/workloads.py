"""`tenure workloads`: all pod groups of a cluster, how preemptible and how protected they are."""

from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.decide import read_and_decide
from tenure.cli.options import Cluster as ClusterId
from tenure.cli.options import (
    Config,
    Connection,
    Form,
    NodePool,
    Server,
    Timeout,
    check_source,
    read_state_and_decide,
    refuse_config,
)
from tenure.process.options import AllowPlaintext, Output, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

QueueName = Annotated[
    str | None,
    typer.Option("--queue", metavar="NAME", help="Only pod groups of this queue and those below it."),
]
_KNOWN_QUEUES: Final = 10
"""Queues that a message names at most."""


SnapshotFile = Annotated[
    str | None, typer.Argument(metavar="SNAPSHOT", help="File with the snapshot; - reads standard input.")
]


def workloads(
    snapshot: SnapshotFile = None,
    server: Server = None,
    cluster_id: ClusterId = None,
    node_pool: NodePool = None,
    config: Config = None,
    queue: QueueName = None,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
    form: Form = None,
    timeout: Timeout = "60s",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
) -> None:
    """List pod groups with preemptibility and protection.

    Runs one cycle without side effects. SNAPSHOT is a file as for `tenure decide`. --cluster-id selects the
    newest state that a scheduler pushed to --server.

    For example: tenure workloads --server 127.0.0.1:50051 --cluster-id prod --node-pool gpu

    PREEMPTIBILITY is that of the pod group's field, else of its annotation, else derived from its priority:
    "! priority" marks such pod groups. The solver reads it, and the other values of its status.

    PROTECTED is the protection that ends first, with its source. "minimum only": the surplus can be evicted.
    "not protected": it can be evicted at any time, subject to queue and priority rules. A disruption budget
    that allows no more disruptions of its running pods is named, too. Then its place in the victim order of
    its queue, who would take it before all others, and what evicting all of it would cost, if the profile
    lists evictioncost. A notice of eviction that stands comes before all that: when, for which pod group and
    by which action its pods are evicted.

    JSON: now, next_wake_time and workloads, a list of objects with these keys; times are RFC 3339.

    \b
      uid, name, namespace, queue, priority
      preemptibility            Preemptible, Non-Preemptible, Semi-Preemptible
      preemptibility_source     field, annotation, label, priority
      preemptibility_problem    error in the annotation, or empty
      preemptibility_requested  null, or a stronger one that its owner wants and that
                                is not in force
      not_in_force              which quota does not cover what its owner wants, or
                                empty
      pods_running, pods_pending, pods_minimum
      state                     such as running, waiting, held or delayed
      held_by                   null, or what holds it: user, admin, dependency,
                                eviction_limit, evicted, time_limit, not_before
      not_before                null, or the time that it waits for
      runs_for_seconds          null: not running, or its start time is missing
      is_protected              whether any part of it is protected
      protections               list of guard, actions, against,
                                against_pod_group, scope (all, core),
                                until, source; sorted by end
      disruption_budgets        list of name, left: pods that each budget of its
                                running pods still allows to disrupt
      notices                   list of notices of eviction that stand: pods, action,
                                pod_group (for which), evict_time,
                                given_time (null: in this cycle)
      expected_runtime_seconds  null: not set, or invalid
      expected_runtime_source   where it is set
      expected_end              null: it does not run, or nothing says
      expected_end_certainty    bounded, expected, assumed, unknown
      latest_end                null, or when its time limit ends it
      requeue                   null, or the result of requeue nomination: result,
                                skip_reason, detail, nominated_by, overrun_seconds,
                                until, contender, not_before
      as_victim                 null, or place in its queue (null: not evictable
                                now), cost_gpu_seconds, lost_gpu_seconds,
                                next_for: list of action, queue, pod_group

    Exit status: 0 listed; 2 invalid command line, file or snapshot; 3 the server failed.
    """
    from tenure.cli.local_or_remote import find_ranks
    from tenure.cli.workload_rows import workload_rows
    from tenure.render.response_view import ResponseView

    check_source(snapshot, server, cluster_id, node_pool)
    connection = Connection(server, timeout, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    if cluster_id is not None:
        refuse_config(config)
        message, response = read_state_and_decide(connection, cluster_id, node_pool or "")
    else:
        assert snapshot is not None
        message, response = read_and_decide(snapshot, form, connection, config, [], with_statuses=True)
    view = ResponseView(message, response)
    if queue is not None:
        _check_queue(message, queue)
    rows = workload_rows(view, queue, find_ranks(message, queue, connection, config))
    if output is Output.JSON:
        from tenure.cli.workload_table import workloads_json

        typer.echo(workloads_json(view, rows))
        return
    from tenure.cli.workload_table import print_workloads
    from tenure.render.terminal import TerminalConsole

    print_workloads(TerminalConsole(), view, rows)


def _check_queue(snapshot: "ClusterSnapshot", name: str) -> None:
    """Refuse a queue that neither exists nor is named by any pod group."""
    known = {queue.name for queue in snapshot.queues} | {group.queue for group in snapshot.pod_groups}
    if name not in known:
        some = ", ".join(sorted(known)[:_KNOWN_QUEUES])
        more = ", ..." if len(known) > _KNOWN_QUEUES else ""
        raise typer.BadParameter(f"no queue {name!r}; known: {some}{more}", param_hint="--queue")
