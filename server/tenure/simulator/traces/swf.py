"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 is unknown.

A processor is played as a GPU. Parts of a preempted job (status 2 to 4) belong to the job of the same number,
whose line has status 0 or 1; a job with only parts in the file is played as the sum of its parts. Of the
parts, only the first has a submit time. Times may have fractions of a second.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Final, NamedTuple

from tenure.simulator.jobs import MAX_GPUS, MAX_SECONDS, WHOLE_GPU, BadLine, Job, Trace, in_order
from tenure.terms.durations import SECOND

FIELDS: Final = 18
CANCELLED: Final = 5
PARTS: Final = (2, 3, 4)


class SwfLine(NamedTuple):
    """The fields of a line, in order, by their numbers in the definition of the format."""

    job_number: int
    submit: float
    wait: float
    run: float
    processors: int
    cpu_seconds: float
    memory_kb: float
    requested_processors: int
    requested_time: float
    requested_memory_kb: float
    status: int
    user: int
    group: int
    executable: int
    queue: int
    partition: int
    preceding_job: int
    think_time: float


_REALS: Final = frozenset(
    SwfLine._fields.index(name)
    for name in (
        *("submit", "wait", "run", "cpu_seconds"),
        *("memory_kb", "requested_time", "requested_memory_kb", "think_time"),
    )
)


def read_swf(lines: Iterable[str]) -> Trace:
    """Jobs with the queue of field 15, else the group of field 13.

    The requested time is the expected runtime, the run time what the job takes. Times count from
    `UnixStartTime` of the header.
    """
    header: dict[str, str] = {}
    jobs: dict[int, Job] = {}
    parts: dict[int, Job] = {}
    bad: list[BadLine] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.startswith(";"):
            key, colon, value = text[1:].partition(":")
            if colon:
                header.setdefault(key.strip(), value.strip())
            continue
        if not text:
            continue
        try:
            row = parse_line(text)
            first = parts.get(row.job_number) if row.status in PARTS else None
            if first is not None and row.submit < 0:
                row = row._replace(submit=0)  # it is that of the first part
            job = _job(row, _number(header, "UnixStartTime") or 0)
            if job is None:
                continue
            if row.status in PARTS:
                parts[row.job_number] = first._replace(runtime=first.runtime + job.runtime) if first else job
            elif row.job_number in jobs:
                raise ValueError(f"job {row.job_number} is listed twice")
            else:
                jobs[row.job_number] = job
        except ValueError as error:
            bad.append(BadLine(number, str(error)))
    for job_number, part in parts.items():
        jobs.setdefault(job_number, part)
    processors, nodes = _number(header, "MaxProcs"), _number(header, "MaxNodes")
    return Trace(in_order(jobs.values()), bad, _notes(header), *_node_size(processors, nodes))


def parse_line(text: str) -> SwfLine:
    """The fields of a line. Raises ValueError."""
    words = text.split()
    if len(words) != FIELDS:
        raise ValueError(f"has {len(words)} fields instead of {FIELDS}")
    values: list[float] = []
    for i, word in enumerate(words):
        try:
            values.append(_real(word) if i in _REALS else int(word))
        except ValueError:
            kind = "a number" if i in _REALS else "a whole number"
            raise ValueError(f"field {i + 1} ({SwfLine._fields[i]}) is not {kind}: {word[:40]!r}") from None
    return SwfLine(*values)  # type: ignore[arg-type]


def _real(word: str) -> float:
    """A number; whole ones stay exact."""
    value = float(word)
    if not isfinite(value):
        raise ValueError
    return int(word) if value.is_integer() and word.lstrip("-").isdecimal() else value


def _job(row: SwfLine, start: int) -> Job | None:
    if row.status == CANCELLED and row.run <= 0:
        return None
    processors = row.requested_processors if row.requested_processors > 0 else row.processors
    if not 0 < processors <= MAX_GPUS:
        raise ValueError(f"job {row.job_number} has no number of processors (fields 8 and 5)")
    if not 0 <= row.submit <= MAX_SECONDS:
        raise ValueError(f"job {row.job_number} has no submit time (field 2)")
    if not 0 <= row.run <= MAX_SECONDS:
        raise ValueError(f"job {row.job_number} has no run time (field 4)")
    if row.job_number < 0:
        raise ValueError("has no job number (field 1)")
    queue = f"queue-{row.queue}" if row.queue >= 0 else f"group-{row.group}" if row.group >= 0 else "all"
    return Job(
        name=f"job-{row.job_number:09d}",
        queue=queue,
        submit=start * SECOND + round(row.submit * SECOND),
        runtime=round(row.run * SECOND),
        gpu_milli=processors * WHOLE_GPU,
        expected_runtime=round(min(max(row.requested_time, 0), MAX_SECONDS) * SECOND),
    )


def _number(header: dict[str, str], key: str) -> int | None:
    word = header.get(key, "").split()[:1]
    return int(word[0]) if word and word[0].isdecimal() and 0 < int(word[0][:12]) <= MAX_SECONDS else None


def _node_size(processors: int | None, nodes: int | None) -> tuple[int | None, int | None]:
    """Processors of a node, and nodes."""
    if processors is None or processors > MAX_GPUS:
        return None, None
    if nodes is None or nodes > processors or processors % nodes:
        return processors, 1
    return processors // nodes, nodes


def _notes(header: dict[str, str]) -> tuple[str, ...]:
    notes = ["SWF: a processor is played as a GPU; jobs that were cancelled before they ran are left out."]
    if header.get("Preemption", "No").split()[:1] not in ([], ["No"]):
        notes.append("SWF: the parts of a preempted job are played as one job.")
    return tuple(notes)
