"""The command `kubectl tenure`, in the executable `kubectl-tenure`."""

import subprocess
import sys
from enum import StrEnum
from typing import Annotated, Final

import typer
from tenure.kubernetes.plugin.access import (
    TENURE_NAMESPACE,
    AllNamespaces,
    Context,
    ExitCode,
    Kubeconfig,
    Namespace,
    OutputFormat,
    TenureNamespace,
    connect,
    fail,
    print_json,
)
from tenure.kubernetes.plugin.assign import assign, checked_value, complete_value
from tenure.kubernetes.plugin.operator_view import ClusterView, is_operator, view_cluster
from tenure.kubernetes.plugin.queue_tree import print_queues, queues_json, read_queues
from tenure.kubernetes.plugin.what_if import forecast_text, forecasts, read_manifest
from tenure.kubernetes.plugin.why import print_why, read_events, why_json
from tenure.kubernetes.plugin.workload_list import (
    SCHEDULER,
    WorkloadObjects,
    complete_name,
    complete_target,
    find_workload,
    print_workloads,
    read_workloads,
    workload_json,
)
from tenure.process.options import Output
from tenure.process.printable_output import printable_output
from tenure.render.protected import render_protected
from tenure.render.response_view import ResponseView
from tenure.render.terminal import TerminalConsole

_EPILOG: Final = (
    "Exit status: 0 done; 1 it would not start (what-if), or manifests need attention (migrate); 2 invalid "
    "command line, file or name; 3 the API server failed; 4 your rights do not suffice."
)
_ANY_ARGUMENTS: Final = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    name="kubectl tenure",
    help="See and set what Tenure schedules, with your own rights on the cluster.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

SchedulerName = Annotated[str, typer.Option(metavar="NAME", help="Show pods with this schedulerName.")]


class Setting(StrEnum):
    """What `set` sets."""

    PREEMPTIBILITY = "preemptibility"
    EXPECTED_RUNTIME = "expected-runtime"
    REQUEUE_DELAY = "requeue-delay"
    MIN_RUNTIME = "min-runtime"


@app.command()
def queues(
    kubeconfig: Kubeconfig = None, context: Context = None, output: OutputFormat = Output.TABLE
) -> None:
    """Show the queues as a tree, with their GPUs.

    \b
      Quota  guaranteed to the queue
      Fair   fair share: the requested part of the quota, and a part of unused quotas
      Used   GPUs of running pods, children included
      Asked  GPUs of running and pending pods

    The adapter writes these amounts into the status of the queues; `-` is not written yet. You need the right
    to list queues. --output json has CPU and memory too.

    For example: kubectl tenure queues
    """
    with connect(kubeconfig, context, None) as api:
        rows = read_queues(api)
    if output is Output.JSON:
        print_json({"queues": queues_json(rows)})
    elif rows:
        print_queues(TerminalConsole(), rows)
    else:
        typer.echo("No queues.")


@app.command()
def workloads(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: SchedulerName = SCHEDULER,
    output: OutputFormat = Output.TABLE,
) -> None:
    """List the workloads of a namespace.

    A workload is a pod group, or the owner of pods without one.

    \b
      Pods    pods on nodes, of all that have not ended
      Reason  why pods are pending, and when pods with notice are evicted;
              `kubectl tenure why NAME` says it in words

    For example: kubectl tenure workloads -n team
    """
    with connect(kubeconfig, context, namespace) as api:
        found = read_workloads(api, None if all_namespaces else api.namespace, scheduler_name)
    if output is Output.JSON:
        print_json({"workloads": [workload_json(one) for one in found]})
    else:
        print_workloads(TerminalConsole(), found, all_namespaces)


@app.command()
def why(
    name: Annotated[
        str, typer.Argument(metavar="POD|PODGROUP", help="Name, or KIND/NAME.", autocompletion=complete_name)
    ],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: SchedulerName = SCHEDULER,
    tenure_namespace: TenureNamespace = TENURE_NAMESPACE,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Explain why a workload is pending or protected.

    You see what Tenure wrote on the objects of the namespace: conditions, annotations and events. Who may
    list nodes and the pods of all namespaces also sees the whole explanation, with the names of others and
    what would help.

    For example: kubectl tenure why train -n team
    """
    with connect(kubeconfig, context, namespace) as api:
        known = read_workloads(api, api.namespace, scheduler_name)
        found = find_workload(known, name)
        if found is None:
            fail(ExitCode.INVALID, f"no workload and no pod {name!r} in namespace {api.namespace!r}")
        events = read_events(api, found)
        details = ""
        if is_operator(api):
            with view_cluster(api, tenure_namespace) as view:
                details = _explain(view, found)
    if output is Output.JSON:
        print_json({**why_json(found, events), "explanation": details or None})
        return
    print_why(TerminalConsole(), found, events)
    if details:
        typer.echo(f"\n{details.rstrip()}")


def _explain(view: ClusterView, workload: WorkloadObjects) -> str:
    """The explanation for operators; "": Tenure does not schedule the workload."""
    known = {row.uid for row in view.snapshot.pod_groups}
    uid = next(iter(known & workload.uids), "")
    if not uid:
        of_pods = (row.pod_group for row in view.snapshot.pods if row.uid in workload.uids)
        uid = next((one for one in of_pods if one in known), "")
    if not uid:
        return ""
    topic = "why-pending" if workload.pending else "protected-until"
    return view.tenure("explain", str(view.file), topic, uid, *view.config)


@app.command()
def protected(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    tenure_namespace: TenureNamespace = TENURE_NAMESPACE,
    output: OutputFormat = Output.TABLE,
) -> None:
    """List protected workloads, until when, and their ranks as victims.

    For operators: you need the right to list nodes and the pods of all namespaces. Decides on the cluster as
    it is now, and writes nothing.

    For example: kubectl tenure protected -A
    """
    with connect(kubeconfig, context, namespace) as api, view_cluster(api, tenure_namespace) as view:
        response, ranks = view.decide(), view.ranks()
        wanted = {row.uid: row for row in view.snapshot.pod_groups}
        if not all_namespaces:
            wanted = {uid: row for uid, row in wanted.items() if row.namespace == api.namespace}
    kept = [one for one in response.protections if one.pod_group in wanted]
    del response.protections[:]
    response.protections.extend(kept)
    shown = ResponseView(view.snapshot, response)
    section = render_protected(shown, ranks)
    if output is Output.JSON:
        headings = [column.heading for column in section.columns]
        rows = [dict(zip(headings, row.cells, strict=True)) for row in section.rows]
        print_json({"protected": rows})
    elif section.rows:
        section.print(TerminalConsole())
    else:
        typer.echo("Nothing is protected.")


@app.command("what-if")
def what_if(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Manifest; - reads standard input.")],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    tenure_namespace: TenureNamespace = TENURE_NAMESPACE,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Would a manifest start, and who would be evicted?

    For operators: you need the right to list nodes and the pods of all namespaces, and to create the objects.
    The API server checks them by a dry run; nothing is created.

    Kinds: Pod, PodGroup, Job, CronJob, Deployment, ReplicaSet, StatefulSet. The cluster may change before you
    create them.

    For example: kubectl tenure what-if job.yaml -n team
    """
    objects = read_manifest(file)
    with connect(kubeconfig, context, namespace) as api, view_cluster(api, tenure_namespace) as view:
        found = forecasts(api, view, objects)
    if output is Output.JSON:
        print_json({"pod_groups": [one._asdict() for one in found]})
    else:
        console = TerminalConsole()
        for one in found:
            console.print(forecast_text(one), highlight=False, markup=False)
    if any(one.starts == "no" for one in found):
        raise typer.Exit(ExitCode.NO)


@app.command("set")
def set_value(
    setting: Annotated[Setting, typer.Argument(help="What to set.")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="KIND/NAME", help="Object, such as job/train.", autocompletion=complete_target
        ),
    ],
    value: Annotated[
        str,
        typer.Argument(metavar="VALUE", help="Value; - removes the setting.", autocompletion=complete_value),
    ],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Let the API server check it only.")] = False,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Set preemptibility or runtimes of a workload, or runtimes of a queue.

    \b
      kubectl tenure set preemptibility job/train Non-Preemptible
      kubectl tenure set expected-runtime podgroup/train 2h
      kubectl tenure set min-runtime deployment/web 30m
      kubectl tenure set min-runtime deployment/web -
      kubectl tenure set requeue-delay queue/research 30m

    Values of preemptibility: Preemptible, Non-Preemptible, Semi-Preemptible. Runtimes and delays are
    durations, such as 90m or 2d. A minimum runtime counts as far as the queue permits it. A queue can have
    an expected runtime and a requeue delay, for its workloads that set none; 0s ends the search in queues
    above.

    Sets the annotation kai.scheduler/SETTING; for the preemptibility of a pod group also its field, if that
    is set. An annotation of an owner counts a few minutes later. You need the right to patch the object.
    """
    text = checked_value(setting.value, target, value)
    with connect(kubeconfig, context, namespace) as api:
        done = assign(api, setting.value, target, text, dry_run)
    if output is Output.JSON:
        print_json(done)
        return
    change = "removed" if done["value"] is None else f"set to {done['value']}"
    note = " (dry run)" if dry_run else ""
    typer.echo(f"{done['kind'].lower()}/{done['name']}: {setting.value} {change}{note}")


@app.command(context_settings=_ANY_ARGUMENTS, add_help_option=False)
def migrate(context: typer.Context) -> None:
    """Set preemptibility explicitly in manifests.

    This is `tenure migrate`, with its options.
    """
    command = [sys.executable, "-m", "tenure.cli", "migrate", *context.args]
    raise typer.Exit(subprocess.run(command, check=False).returncode)  # noqa: S603 (no shell)


def main() -> None:
    """Run the command that the process was started with."""
    with printable_output():
        app(prog_name="kubectl tenure")
