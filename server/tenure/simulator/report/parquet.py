"""Runs as Parquet files, one for each kind of row, for programs that analyse tables.

Every table begins with the name of the policy and the seed. Times are UTC, in microseconds. Names of columns
end in their units.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tenure.simulator.jobs import WHOLE_GPU, mode_text
from tenure.simulator.metrics import bounded_slowdown
from tenure.simulator.report.figures import SECTIONS, Figure
from tenure.simulator.results import JobResult
from tenure.simulator.runs import Run
from tenure.terms.durations import SECOND

Row = Sequence[Any]
"""Values in the order of the columns."""
ROWS_PER_GROUP: Final = 50_000
"""Rows that are Python objects at a time."""
_MICROSECOND: Final = 1_000
_GPU_HOUR: Final = WHOLE_GPU * 3_600 * SECOND
_UNITS: Final = {"duration": "_seconds", "hours": "_gpu_hours"}
_FIGURES: Final = tuple(figure for _, figures in SECTIONS for figure in figures)


def _column(figure: Figure) -> str:
    return "_".join(figure.path[1:]) + _UNITS.get(figure.kind, "")


_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "runs": {
        "policy": "text",
        "input_digest": "text",
        "stopped": "flag",
        **{_column(figure): "number" for figure in _FIGURES},
    },
    "jobs": {
        "job": "text",
        "queue": "text",
        "submit": "time",
        "runtime_seconds": "number",
        "gpus": "number",
        "pods": "count",
        "min_member": "count",
        "priority": "count",
        "preemptibility": "text",
        "expected_runtime_seconds": "number",
        "first_start": "time",
        "end": "time",
        "bounded_slowdown": "number",
        "running_seconds": "number",
        "segments": "count",
        "evictions": "count",
        "failures": "count",
        "barren_segments": "count",
        "kept_gpu_hours": "number",
        "lost_gpu_hours": "number",
        "unsaved_gpu_hours": "number",
        "overhead_gpu_hours": "number",
        "terminating_gpu_hours": "number",
    },
    "segments": {
        "job": "text",
        "start": "time",
        "end": "time",
        "why": "text",
        "nodes": "texts",
        "kept_gpu_hours": "number",
        "lost_gpu_hours": "number",
    },
    "evictions": {
        "time": "time",
        "victim": "text",
        "pods": "count",
        "beneficiary": "text",
        "action": "text",
        "group": "text",
        "last_start": "time",
        "pods_left": "count",
    },
    "notices": {
        "time": "time",
        "victim": "text",
        "pods": "count",
        "beneficiary": "text",
        "action": "text",
        "group": "text",
        "evict_time": "time",
        "end": "time",
        "result": "text",
    },
    "cluster": {
        "start": "time",
        "usable_gpus": "number",
        "allocated_gpus": "number",
        "pending_gpus": "number",
    },
    "queues": {"start": "time", "queue": "text", "allocated_gpus": "number", "entitled_gpus": "number"},
}
"""Columns of each table and their types, after the name and the seed of the run."""


def write_tables(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write a file for each table; files of the same names are replaced. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: Mapping[str, Iterator[Row]] = {
        "runs": _all(runs, _run),
        "jobs": _all(runs, _jobs),
        "segments": _all(runs, _segments),
        "evictions": _all(runs, _evictions),
        "notices": _all(runs, _notices),
        "cluster": _all(runs, _cluster),
        "queues": _all(runs, _queues),
    }
    return [_write(folder / f"{name}.parquet", _COLUMNS[name], rows[name]) for name in _COLUMNS]


def _write(path: Path, columns: Mapping[str, str], rows: Iterator[Row]) -> Path:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "count": pyarrow.int64(),
        "number": pyarrow.float64(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "flag": pyarrow.bool_(),
    }
    named = {"run": "text", "seed": "count", **columns}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in named.items()])
    with ParquetWriter(path, schema, compression="zstd") as file:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            values = zip(*group, strict=True)
            arrays = [pyarrow.array(column, field.type) for column, field in zip(values, schema, strict=True)]
            file.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
    return path


def _all(runs: Sequence[Run], rows_of: Callable[[Run], Iterable[Row]]) -> Iterator[Row]:
    for run in runs:
        for row in rows_of(run):
            yield run.input.name, run.input.settings.seed, *row


def _run(run: Run) -> Iterator[Row]:
    figures = [figure.of(run.metrics) for figure in _FIGURES]
    yield run.input.policy_name, run.input.identity, run.results.stopped, *figures


def _jobs(run: Run) -> Iterator[Row]:
    for result in run.results.jobs:
        job, times = result.job, result.gpu_times
        yield (
            *(job.name, job.queue, _time(job.submit), job.runtime / SECOND, job.total_gpu_milli / WHOLE_GPU),
            *(job.pods, job.least_pods, job.priority, mode_text(job.preemptibility)),
            job.expected_runtime / SECOND if job.expected_runtime else None,
            *(_time(result.first_start), _time(result.end), _slowdown(result)),
            *(result.running_time / SECOND, result.segments, result.evictions, result.failures),
            result.barren,
            *(amount / _GPU_HOUR for amount in times),
        )


def _slowdown(result: JobResult) -> float | None:
    return None if result.end is None else bounded_slowdown(result)


def _segments(run: Run) -> Iterator[Row]:
    gpus = {result.job.name: result.job.gpu_milli for result in run.results.jobs}
    for segment in run.results.segments:
        kept, lost = (gpus[segment.job] * amount / _GPU_HOUR for amount in (segment.kept, segment.lost))
        times = _time(segment.start), _time(segment.end)
        yield segment.job, *times, segment.why, list(segment.nodes), kept, lost


def _evictions(run: Run) -> Iterator[Row]:
    for each in run.results.evictions:
        names = each.beneficiary, each.action, each.group
        yield _time(each.time), each.victim, each.pods, *names, _time(each.last_start), each.left


def _notices(run: Run) -> Iterator[Row]:
    for each in run.results.notices:
        names = each.beneficiary, each.action, each.group
        yield (
            _time(each.time),
            each.victim,
            each.pods,
            *names,
            _time(each.evict_time),
            _time(each.end),
            each.result,
        )


def _cluster(run: Run) -> Iterator[Row]:
    for point in run.results.series:
        amounts = point.usable, point.allocated, point.pending
        yield _time(point.start), *(amount / WHOLE_GPU for amount in amounts)


def _queues(run: Run) -> Iterator[Row]:
    for point in run.results.series:
        for name, *amounts in zip(run.results.queue_names, point.queues, point.entitled, strict=True):
            yield _time(point.start), name, *(amount / WHOLE_GPU for amount in amounts)


def _time(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // _MICROSECOND
