"""What happened to single jobs, and which jobs gained and lost between two runs."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tenure.simulator.jobs import WHOLE_GPU
from tenure.simulator.report.figures import duration_text
from tenure.simulator.results import WITHDRAWN, JobResult, Notice
from tenure.simulator.runs import Run
from tenure.terms.durations import SECOND

MAX_STORIES: Final = 5
MAX_EVENTS: Final = 40
MAX_CHANGES: Final = 10


class Story(NamedTuple):
    """The events of a job, in order."""

    title: str
    events: Sequence[tuple[str, str]]
    """Time and text."""
    omitted: int


class Change(NamedTuple):
    """A job whose turnaround differs between two runs."""

    job: str
    queue: str
    gpus: float
    before: str
    after: str
    difference: str


def collect_stories(run: Run) -> list[Story]:
    """Stories of the jobs that waited longest."""
    by_name = {result.job.name: result for result in run.results.jobs}
    return [_story(run, by_name[row["job"]]) for row in run.metrics["most_delayed"][:MAX_STORIES]]


def _story(run: Run, result: JobResult) -> Story:
    job = result.job
    events: list[tuple[int, str]] = [(job.submit, "submitted")]
    for segment in run.results.segments:
        if segment.job != job.name:
            continue
        nodes = segment.nodes[0] if len(segment.nodes) == 1 else f"{len(segment.nodes)} nodes"
        events.append((segment.start, f"starts on {nodes}"))
        if segment.why == "completed":
            events.append((segment.end, "completes"))
        else:
            lost = segment.lost / job.pods / SECOND
            events.append((segment.end, f"ends ({segment.why}) and loses {duration_text(lost)} of work"))
    for eviction in run.results.evictions:
        if eviction.victim == job.name:
            events.append((eviction.time, f"evicted for {eviction.beneficiary} by {eviction.action}"))
    for notice in run.results.notices:
        events += _notice_events(notice, job.name)
    events.sort(key=lambda event: event[0])
    shown = [(_moment(time), text) for time, text in events[:MAX_EVENTS]]
    gpus = job.total_gpu_milli / WHOLE_GPU
    title = f"{job.name}: queue {job.queue}, {gpus:g} GPUs, runtime {duration_text(job.runtime / SECOND)}"
    return Story(title, shown, max(len(events) - MAX_EVENTS, 0))


def _notice_events(notice: Notice, job: str) -> Iterator[tuple[int, str]]:
    """What a notice means to a job: as its victim, or as the job that the victim is evicted for."""
    at = _moment(notice.evict_time)
    if notice.victim == job:
        yield notice.time, f"given notice: {notice.action} evicts it for {notice.beneficiary} at {at}"
        if notice.end is not None and notice.result == WITHDRAWN:
            yield notice.end, f"notice withdrawn: it is not evicted for {notice.beneficiary}"
    elif notice.beneficiary == job:
        yield notice.time, f"waits for {notice.victim}, which has notice until {at}"


def compare(first: Run, second: Run) -> tuple[list[Change], list[Change]]:
    """Jobs that lose most and gain most from the first run to the second one."""
    before = {result.job.name: result for result in first.results.jobs if result.end is not None}
    differences = []
    for result in second.results.jobs:
        earlier = before.get(result.job.name)
        if earlier is not None and earlier.end is not None and result.end is not None:
            differences.append((result.end - earlier.end, earlier, result))
    differences.sort(key=lambda row: (-row[0], row[1].job.name))
    losers = [_change(*row) for row in differences[:MAX_CHANGES] if row[0] > 0]
    winners = [_change(*row) for row in reversed(differences[-MAX_CHANGES:]) if row[0] < 0]
    return losers, winners


def _change(difference: int, before: JobResult, after: JobResult) -> Change:
    job = before.job
    assert before.end is not None
    assert after.end is not None
    return Change(
        job.name,
        job.queue,
        job.total_gpu_milli / WHOLE_GPU,
        duration_text((before.end - job.submit) / SECOND),
        duration_text((after.end - job.submit) / SECOND),
        duration_text(abs(difference) / SECOND),
    )


def _moment(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
