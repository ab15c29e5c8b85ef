"""`tenure play`: play a trace of jobs on a cluster that does not exist."""

from pathlib import Path
from typing import Annotated, Final

import typer
from tenure.cli.play.inputs import (
    DEFAULT_NODES,
    BaselineName,
    PlayOutput,
    TraceFormatName,
    build_runs,
    check_file,
    check_parquet,
    check_report,
    invalid_input,
    make_folder,
    read_duration,
    read_recorded,
    read_samples,
)

FAILED: Final = 1
"""Exit code: a protection was not kept."""


def play(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="File with the jobs.")],
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="NODES",
            help="Nodes such as 64x8 or 8x8:V100,4x2:T4, or a CSV file of nodes. Default: the trace's, else "
            f"{DEFAULT_NODES}.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="SNAPSHOT", help="Nodes and queues of this snapshot, instead of --nodes."),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Scheduler configuration. Repeat it to compare several."),
    ] = None,
    baseline: Annotated[
        list[BaselineName] | None,
        typer.Option(help="Play also this simple policy, without queues and evictions. Repeatable."),
    ] = None,
    form: Annotated[
        TraceFormatName | None,
        typer.Option("--format", help="Format of TRACE if its first line does not tell."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="CLUSTER[/POOL]", help="Whose records to play, if TRACE has those of several."),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            help="Seed of failures and --resample (default 0), and of a generated trace (its own). Repeat it "
            "for means and differences over several."
        ),
    ] = None,
    resample: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Play blocks of this length that are drawn from the trace, by seed. Default: the trace.",
        ),
    ] = None,
    expected_runtimes: Annotated[
        str,
        typer.Option(
            metavar="CHOICE",
            help="What the solver and easy expect: trace (what the trace says), exact (the real runtimes), "
            "factor:2 (wrong by so much), or none.",
        ),
    ] = "trace",
    cycle_period: Annotated[
        str, typer.Option(metavar="DURATION", help="Shortest time between cycles.")
    ] = "1s",
    start_delay: Annotated[str, typer.Option(metavar="DURATION", help="From bind to running.")] = "0s",
    termination_time: Annotated[
        str, typer.Option(metavar="DURATION", help="From eviction until the capacity is free.")
    ] = "30s",
    checkpoint_interval: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Work that an evicted job keeps: whole intervals. 0s: all of it; never: none.",
        ),
    ] = "30m",
    notice: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Notice of jobs without one of their own, at most options.maxNotice. 0s: that of the queue.",
        ),
    ] = "0s",
    checkpoint_on_notice: Annotated[
        bool, typer.Option("--checkpoint-on-notice", help="Jobs save their work when they are given notice.")
    ] = False,
    restart_overhead: Annotated[
        str, typer.Option(metavar="DURATION", help="Time without progress after a restart.")
    ] = "1m",
    node_failures: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Mean time between failures of a node. Default: none fails."),
    ] = None,
    node_repair: Annotated[str, typer.Option(metavar="DURATION", help="Time until a node is back.")] = "1h",
    until: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Stop so long after the first submission.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep the progress here, and go on from it when called again."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page. Requires tenure[report].")
    ] = None,
    output: Annotated[
        PlayOutput, typer.Option(help="Output format. Parquet requires tenure[parquet].")
    ] = PlayOutput.TABLE,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where Parquet files are written. Default: TRACE-tables."),
    ] = None,
) -> None:
    """Play a trace of jobs with the code that decides, and measure what comes out.

    \b
      tenure play philly.csv
      tenure play jobs.swf --baseline easy --report waits.html
      tenure play jobs.csv --nodes 8x8:V100,4x2:T4 --baseline easy --expected-runtimes exact
      tenure play philly.csv --config now.yaml --config new.yaml --checkpoint runs
      tenure play load.yaml --nodes 16x8 --seed 3 --output json
      tenure play load.yaml --config a.yaml --config b.yaml --seed 1 --seed 2 --report both.html
      tenure play philly.csv --output parquet --tables philly
      tenure play records.sqlite --config new.yaml

    TRACE is an SWF file of the Parallel Workloads Archive, a CSV of the Philly, openb or ITP traces or of
    Alibaba's trace of spot GPUs, a CSV with the columns job, submit, runtime and gpus, optionally queue,
    pods, priority, preemptibility, min_member, expected_runtime, checkpoint_interval, notice,
    checkpoint_on_notice, time_limit, cpu, memory and gpu_kind, or a YAML description of arrivals. Lines that
    cannot be read are left out, counted and named; columns that are not played are named. The records of
    `tenure serve` are a trace too: the first run is then what really happened, and the others what would have
    happened instead.

    Queues share all GPUs equally, unless --cluster has queues. The run is deterministic. JSON has the inputs
    and metrics of each run, and the comparison of policies over the seeds. Parquet has runs, jobs, segments,
    evictions and notices, and cluster and queues over time, as tables. The page of --report defines every
    metric.

    Exit status: 0 played; 1 a protection was not kept; 2 invalid command line or file; 130 interrupted; 143
    terminated.
    """
    from tenure.cli.interrupts import clean_end
    from tenure.cli.play.output import show_progress, show_reading, show_runs
    from tenure.server.installed import installed_registry
    from tenure.simulator.runs import play as play_run
    from tenure.simulator.settings import RunSettings
    from tenure.simulator.traces.formats import TraceFormat, is_records

    settings = RunSettings(
        cycle_period=read_duration(cycle_period, "--cycle-period"),
        start_delay=read_duration(start_delay, "--start-delay"),
        termination_time=read_duration(termination_time, "--termination-time"),
        checkpoint_interval=read_duration(checkpoint_interval, "--checkpoint-interval"),
        notice=read_duration(notice, "--notice"),
        checkpoint_on_notice=checkpoint_on_notice,
        restart_overhead=read_duration(restart_overhead, "--restart-overhead"),
        node_failure_interval=read_duration(node_failures or "0s", "--node-failures"),
        node_repair_time=read_duration(node_repair, "--node-repair"),
    )
    stop = None if until is None else read_duration(until, "--until")
    block = None if resample is None else read_duration(resample, "--resample")
    if report is not None:
        check_report()
        check_file(report, "--report")
    if tables is not None and output is not PlayOutput.PARQUET:
        raise typer.BadParameter("requires --output parquet", param_hint="--tables")
    folder = tables or trace.with_name(f"{trace.stem}-tables")
    if output is PlayOutput.PARQUET:
        check_parquet()
    if checkpoint is not None:
        make_folder(checkpoint, "--checkpoint")
    show_reading(trace)
    with invalid_input():
        if is_records(trace):
            if block is not None or form is not None or expected_runtimes != "trace":
                name = "--resample" if block is not None else "--format" if form else "--expected-runtimes"
                raise typer.BadParameter("cannot be used with records of decisions", param_hint=name)
            samples = read_recorded(trace, settings, seed or [], shard)
        else:
            if shard is not None:
                raise typer.BadParameter(f"{trace} is no file of records", param_hint="--shard")
            samples = read_samples(
                trace, TraceFormat(form) if form else None, settings, seed or [], block, expected_runtimes
            )
    if output is PlayOutput.PARQUET:
        make_folder(folder, "--tables")
    options = config or [], baseline or [], stop
    with invalid_input():
        by_seed = [
            build_runs(sample.trace, nodes, cluster, sample.settings, *options, sample.recorded)
            for sample in samples
        ]
    runs = []
    with clean_end(_advice(checkpoint)):
        for run in [run for runs_of_policy in zip(*by_seed, strict=True) for run in runs_of_policy]:
            with show_progress(run, len(samples)) as progress, invalid_input():
                runs.append(play_run(run, installed_registry(), checkpoint, progress))
    show_runs(runs, output, report, folder)
    if any(played.violations for played in runs):
        raise typer.Exit(FAILED)


def _advice(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "with --checkpoint FOLDER a run can go on"
    return f"call it again to go on from {checkpoint}"
