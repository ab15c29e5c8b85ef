"""Answers without any effect: a dry run, what would become of a job, and a snapshot of the cluster."""

import os

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.public_messages import format_public_message
from tenure.client.snapshot_file import format_of, write_snapshot
from tenure.integration.adapter_process import connect
from tenure.integration.journal import Journal
from tenure.integration.journal_format import load_journal
from tenure.integration.journal_rows import JournalRows
from tenure.render import print_report
from tenure.render.forecast import forecast
from tenure.render.terminal import TerminalConsole
from tenure.slurm.observe.cluster import Reading
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import Slurm
from tenure.slurm.settings import SlurmSettings
from tenure.slurm.state_file import StateFile
from tenure.slurm.what_if import JOB_ID, OptionError, read_options
from tenure.v1.snapshot_pb2 import ClusterSnapshot


def print_dry_run(settings: SlurmSettings) -> None:
    """Print the current decisions. Raises ClusterError, JournalUnreadable and TenureError."""
    snapshot = _observe(settings, Slurm(lambda: False).read())
    with connect(settings) as client:
        response = client.decide(snapshot)
    print_report(TerminalConsole(), snapshot, response)


def write_capture(settings: SlurmSettings, file: str) -> None:
    """Write a snapshot of the cluster. Raises ClusterError and JournalUnreadable."""
    form = format_of(file)
    snapshot = _observe(settings, Slurm(lambda: False).read())
    write_snapshot(snapshot, file, form)
    typer.echo(f"{file}: {len(snapshot.nodes):,} nodes, {len(snapshot.pod_groups):,} jobs")


def print_forecast(settings: SlurmSettings, options: str) -> None:
    """Print what would become of a job. Raises the errors of `print_dry_run` and typer.BadParameter."""
    reading = Slurm(lambda: False).read()
    now = Timestamp()
    now.GetCurrentTime()
    try:
        job = read_options(options, settings.partitions[0], os.getuid(), now.seconds)
    except OptionError as error:
        raise typer.BadParameter(str(error), param_hint="--what-if") from None
    snapshot = _observe(settings, reading._replace(jobs=[*reading.jobs, job]))
    with connect(settings) as client:
        response = client.decide(snapshot)
    uid = f"{JOB_ID}@{now.seconds}"
    found = forecast(response, uid, {pod.uid for pod in snapshot.pods if pod.pod_group == uid})
    match found.starts:
        case "now":
            typer.echo(f"It would start now on {', '.join(found.nodes)}.")
        case "later":
            typer.echo(f"It would start soon on {', '.join(found.nodes) or 'nodes that become free'}.")
        case _:
            typer.echo(f"It would wait: {format_public_message(found.outcome.reason)}")
    if found.losses:
        names = {row.uid: row.name for row in snapshot.pod_groups}
        lost = dict.fromkeys(names.get(each.pod_group, each.pod_group) for each in found.losses)
        typer.echo(f"Jobs that would be requeued for it: {', '.join(lost)}")


def _observe(settings: SlurmSettings, reading: Reading) -> ClusterSnapshot:
    """The snapshot that the adapter would send."""
    state = StateFile(settings.state_file) if settings.state_file.exists() else None
    memories, journal = JobMemories(state.memories() if state else ()), Journal()
    stored = state.fields if state else lambda uid: None
    source = SlurmSource(settings.scope(), settings.queues(), lambda: reading, memories, stored)
    now = Timestamp()
    now.GetCurrentTime()
    snapshot = source.snapshot(now)
    if state is not None:
        journal = load_journal(state)
        state.close()
    JournalRows(journal, source).complete(snapshot)
    return snapshot
