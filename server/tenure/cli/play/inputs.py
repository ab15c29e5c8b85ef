"""Inputs of `tenure play`, from its options."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

if TYPE_CHECKING:
    from tenure.simulator.jobs import Trace
    from tenure.simulator.runs import RunInput
    from tenure.simulator.settings import RunSettings
    from tenure.simulator.traces.formats import TraceFormat
    from tenure.simulator.traces.records import Recorded
    from tenure.v1.snapshot_pb2 import ClusterSnapshot, Queue

DEFAULT_NODES: Final = "64x8"


class TraceFormatName(StrEnum):
    """Format of a trace; values of `tenure.simulator.traces.formats.TraceFormat`."""

    SWF = "swf"
    PHILLY = "philly"
    OPENB = "openb"
    SPOT = "spot"
    ITP = "itp"
    JOBS = "jobs"
    GENERATED = "generated"


class PlayOutput(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    PARQUET = "parquet"


class BaselineName(StrEnum):
    """A policy to compare with; values of `tenure.simulator.baselines.Baseline`."""

    FIFO = "fifo"
    FIRST_FIT = "first-fit"
    EASY = "easy"


@contextmanager
def invalid_input() -> Iterator[None]:
    """End with a message for input that the simulation refuses."""
    from tenure.simulator.jobs import TraceError
    from tenure.simulator.journal import CheckpointError

    try:
        yield
    except (TraceError, CheckpointError) as error:
        raise typer.BadParameter(str(error)) from None


def read_duration(text: str, option: str) -> int:
    """Nanoseconds of an option; `never` is FROM_ZERO for the checkpoint interval."""
    from tenure.simulator.jobs import FROM_ZERO
    from tenure.terms.durations import parse_duration

    if option == "--checkpoint-interval" and text == "never":
        return FROM_ZERO
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def check_report() -> None:
    """Refuse --report if its packages are missing, before a run."""
    try:
        import jinja2  # noqa: F401 fail before the run, not after it
        import vl_convert  # noqa: F401
    except ImportError:
        problem = "requires the packages of tenure[report]: pip install 'tenure[report]'"
        raise typer.BadParameter(problem, param_hint="--report") from None


def check_parquet() -> None:
    """Refuse --output parquet if its package is missing, before a run."""
    try:
        import pyarrow  # type: ignore[import-untyped] # noqa: F401 fail before the run, not after it
    except ImportError:
        problem = "parquet requires the packages of tenure[parquet]: pip install 'tenure[parquet]'"
        raise typer.BadParameter(problem, param_hint="--output") from None


def check_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be written, before runs that may take hours."""
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder; name a file", param_hint=option)
    if not path.parent.is_dir():
        raise typer.BadParameter(f"{path.parent} is no folder", param_hint=option)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written", param_hint=option)


def make_folder(path: Path, option: str) -> None:
    """Create the folder of an option. Refuse one in which nothing can be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint=option) from None
    if not os.access(path, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written", param_hint=option)


class Sample(NamedTuple):
    """What a seed decides."""

    trace: "Trace"
    settings: "RunSettings"
    recorded: "Recorded | None" = None
    """What really happened, if the trace is a file of records."""


def read_samples(
    path: Path,
    form: "TraceFormat | None",
    settings: "RunSettings",
    seeds: list[int],
    block: int | None,
    runtimes: str = "trace",
) -> list[Sample]:
    """The trace and the settings of each seed, or the only ones. Raises TraceError.

    `block` is the length of the blocks that a seed draws from the trace; `runtimes` is the choice of expected
    runtimes.
    """
    from tenure.simulator.expected_runtimes import FACTOR, check_choice, with_expected_runtimes
    from tenure.simulator.traces.formats import TraceFormat, read_trace
    from tenure.simulator.traces.resample import resample

    if len(set(seeds)) < len(seeds):
        raise typer.BadParameter("a seed occurs twice", param_hint="--seed")
    check_choice(runtimes)
    samples: list[Sample] = []
    chosen: list[int | None] = [*seeds] or [None]
    for seed in chosen:
        found, trace = read_trace(path, form, seed)
        is_drawn = found is TraceFormat.GENERATED or block is not None or runtimes.startswith(FACTOR)
        if len(seeds) > 1 and not is_drawn:
            _check_failures(path, settings)
        if block is not None:
            trace = resample(trace, block, seed or 0)
        trace = with_expected_runtimes(trace, runtimes, seed or 0)
        samples.append(Sample(trace, replace(settings, seed=seed or 0)))
    return samples


def _check_failures(path: Path, settings: "RunSettings") -> None:
    if not settings.node_failure_interval:
        problem = f"{path} is the same for all seeds; use --resample or --node-failures"
        raise typer.BadParameter(problem, param_hint="--seed")


def read_recorded(
    path: Path, settings: "RunSettings", seeds: list[int], shard: str | None, name: str = "--shard"
) -> list[Sample]:
    """The jobs of a file of records, for each seed. Raises TraceError and RecordsError.

    `shard` names a cluster and perhaps its node pool, if the file has several; `name` is that of the option
    or key which sets it.
    """
    from tenure.server.records import RecordsFile
    from tenure.simulator.traces.records import RecordedCycle, read_records

    if len(seeds) > 1:
        _check_failures(path, settings)
    with RecordsFile(path) as file:
        shards = {f"{name}/{pool}" if pool else name: (name, pool) for name, pool in file.shards()}
        if shard is None and len(shards) > 1:
            raise typer.BadParameter(
                f"is needed: {path.name} has records of {', '.join(shards)}", param_hint=name
            )
        if shard is not None and shard not in shards:
            raise typer.BadParameter(f"{shard!r} is none of {', '.join(shards)}", param_hint=name)
        wanted = next(iter(shards.values()), None) if shard is None else shards[shard]
        recorded = read_records(
            (
                RecordedCycle(record.id, file.snapshot(record), record.response)
                for record in file.records()
                if (record.cluster_id, record.node_pool) == wanted
            ),
            settings,
        )
    return [Sample(recorded.trace, replace(settings, seed=seed), recorded) for seed in seeds or [0]]


def build_runs(
    trace: "Trace",
    nodes: str | None,
    cluster: str | None,
    settings: "RunSettings",
    configs: list[Path],
    baselines: list[BaselineName],
    stop: int | None,
    recorded: "Recorded | None" = None,
) -> "list[RunInput]":
    """A run for each configuration and baseline; `stop` is the time after the first submission.

    The first one is what really happened, if that is known, on the recorded cluster.
    """
    from tenure.server.settings import load_settings
    from tenure.simulator.baselines import Baseline
    from tenure.simulator.runs import RunInput
    from tenure.solver.plugin_api.profile import Profile

    whole = trace
    if BaselineName.EASY in baselines:
        trace = whole = _with_known_runtimes(trace, is_recorded=recorded is not None)
    trace, snapshot = fit_cluster(whole, nodes, cluster, recorded)
    end = None if stop is None else trace.jobs[0].submit + stop
    stems = [file.stem for file in configs]
    policies: list[tuple[str, Profile | Baseline]] = [
        (file.stem if stems.count(file.stem) == 1 else str(file), load_settings(file).profile)
        for file in configs
    ]
    if not configs:
        policies.append(("default", load_settings(None).profile))
    policies += [(str(name), Baseline(name)) for name in baselines]
    runs = [RunInput(name, trace, snapshot, settings, policy, end) for name, policy in policies]
    if recorded is not None:
        exact = replace(settings, cycle_period=0, start_delay=0, node_failure_interval=0, every_cycle=True)
        runs.insert(
            0, RunInput("recorded", *fit_cluster(whole, None, None, recorded), exact, recorded.history, end)
        )
    return _with_own_names(runs)


def _with_known_runtimes(trace: "Trace", *, is_recorded: bool) -> "Trace":
    """The trace for EASY, with a note if it lacks some expected runtimes. Refuses one that has none."""
    from tenure.simulator.expected_runtimes import missing_text

    if not any(job.expected_runtime for job in trace.jobs):
        choice = "Use first-fit"
        if not is_recorded:
            choice = "Choose them with --expected-runtimes (exact: the real ones), or use first-fit"
        problem = (
            "easy starts jobs by their expected runtimes, and no job of the trace has one: without, it is "
            f"first-fit. {choice}"
        )
        raise typer.BadParameter(problem, param_hint="--baseline")
    missing = missing_text(trace)
    if not missing:
        return trace
    note = f"{missing}: easy starts them only beside what it reserves."
    return replace(trace, notes=(*trace.notes, note))


def _with_own_names(runs: "list[RunInput]") -> "list[RunInput]":
    """Give each run a name of its own: runs with one name would count as one policy."""
    found: dict[str, RunInput] = {}
    for run in runs:
        name, number = run.name, 2
        while name in found:
            name, number = f"{run.name} ({number})", number + 1
        found[name] = replace(run, name=name)
    return list(found.values())


def fit_cluster(
    trace: "Trace", nodes: str | None, cluster: str | None, recorded: "Recorded | None"
) -> "tuple[Trace, ClusterSnapshot]":
    """The trace with jobs that fit, and the cluster. Raises TraceError, and typer.BadParameter for nodes."""
    from tenure.client.snapshot_file import read_snapshot
    from tenure.simulator import cluster as build
    from tenure.simulator.fitting import fit_jobs
    from tenure.simulator.node_list import read_nodes

    queues: list[Queue] = []
    if cluster is not None:
        if nodes is not None:
            raise typer.BadParameter("cannot be used with --cluster", param_hint="--nodes")
        read = read_snapshot(cluster)
        rows, queues = list(read.nodes), list(read.queues)
        if not rows:
            raise typer.BadParameter(f"{cluster} has no nodes", param_hint="--cluster")
    elif recorded is not None and nodes is None:
        rows, queues = list(recorded.nodes), list(recorded.queues)
    elif nodes is not None and nodes.endswith(".csv"):
        rows = read_nodes(Path(nodes))
    else:
        default = f"{trace.nodes}x{trace.node_gpus}" if trace.nodes and trace.node_gpus else DEFAULT_NODES
        try:
            rows = build.build_nodes(build.parse_nodes(nodes or default))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--nodes") from None
    fitted = fit_jobs(trace, rows)
    if not fitted.jobs:
        reason = f": {fitted.bad_lines[-1].problem}" if fitted.bad_lines else ""
        problem = f"no job of the trace fits on this cluster{reason}"
        raise typer.BadParameter(problem, param_hint="--nodes")
    if not queues:
        queues = build.equal_queues(fitted.queues, build.gpu_milli_of(rows))
    known = {queue.name for queue in queues} - {queue.parent for queue in queues}
    if missing := sorted(set(fitted.queues) - known):
        problem = f"has no leaf queue {missing[0]!r}, which jobs of the trace name"
        raise typer.BadParameter(problem, param_hint="--cluster")
    return fitted, build.build_cluster(rows, queues, fitted.jobs)
