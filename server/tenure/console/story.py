"""The story of a workload on a time line: it waited, started, got a notice, was evicted, and came back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.console.formatting import clock
from tenure.console.view import View
from tenure.console.workloads import Protected, State, WorkloadRow
from tenure.terms.durations import SECOND

WIDTH: Final = 1000
"""Units of the picture from its first to its last time."""


class Event(NamedTuple):
    """Something that happened. Times are in nanoseconds."""

    time: int
    kind: str
    """`created`, `started`, `noticed`, `withdrawn`, `evicted` or `requeued`."""
    text: str
    other: str
    """Uid of the pod group that it was evicted for; empty: unknown."""


class Segment(NamedTuple):
    """Part of the time line, in units of the picture."""

    kind: str
    """`waited`, `ran` or `protected`."""
    begin: float
    end: float
    text: str


@dataclass(frozen=True)
class Story:
    """Events, oldest first, and the picture of them."""

    events: Sequence[Event]
    segments: Sequence[Segment]
    protections: Sequence[Segment]
    marks: Sequence[tuple[float, str]]
    """Position and kind of events and of expected times."""
    begin: int
    end: int
    now: float


def build_story(view: View, row: WorkloadRow, source_text: Callable[[str], str] = str) -> Story:
    """The story as far as the state and the recent cycles contain it.

    `source_text` returns where a protection is set as the reader may read it.
    """
    events = _events(view, row)
    until = [protection.until for protection in row.protections if protection.until is not None]
    ahead = [time for time in (*until, row.due, row.cooldown_until) if time and time > view.now]
    begin = min((event.time for event in events), default=view.now)
    most = view.now + max(view.now - begin, 10 * SECOND)
    end = min(max([view.now, *ahead]), most)
    begin, end = begin - SECOND, end + max(SECOND, (end - begin) // 20)

    def at(time: int) -> float:
        return round((time - begin) / (end - begin) * WIDTH, 1)

    segments = [
        Segment(kind, at(start), at(stop), text) for kind, start, stop, text in _segments(view, row, events)
    ]
    guards = [
        Segment(
            "protected",
            at(row.since),
            at(end if each.until is None else min(each.until, end)),
            ", ".join(filter(None, (each.guard, _source(each, source_text)))),
        )
        for each in row.protections
    ]
    marks = [(at(event.time), event.kind) for event in events]
    for time, kind in ((row.due, "expected"), (row.cooldown_until, "cooldown")):
        if time is not None and begin <= time <= end:
            marks.append((at(time), kind))
    return Story(events, segments, guards, marks, begin, end, at(view.now))


def _source(protection: Protected, source_text: Callable[[str], str]) -> str:
    """Where a protection is set, if that does not name its guard."""
    source = source_text(protection.source)
    return "" if protection.guard in source else source


def _events(view: View, row: WorkloadRow) -> list[Event]:
    group = row.group
    found: dict[tuple[int, str], Event] = {}

    def add(time: int, kind: str, text: str, other: str = "") -> None:
        if time > 0:
            known = found.get((time // SECOND, kind))
            if known is None or not known.other:
                found[time // SECOND, kind] = Event(time, kind, text, other)

    add(group.creation_time.ToNanoseconds(), "created", "created")
    add(group.last_start_time.ToNanoseconds(), "started", "started")
    add(group.last_eviction_time.ToNanoseconds(), "evicted", "evicted")
    for record in view.snapshot.eviction_history:
        if record.victim == group.uid:
            time, other = record.last_eviction_time.ToNanoseconds(), record.preemptor
            add(time, "evicted", f"evicted for {view.names.name(other)}", other)
    for cycle in view.cycles:
        now = cycle.response.header.now.ToNanoseconds()
        for decided in cycle.response.groups:
            pods = sum(d.HasField("evict") and d.evict.pod_group == group.uid for d in decided.decisions)
            is_requeue = any(
                d.HasField("requeue") and d.requeue.pod_group == group.uid for d in decided.decisions
            )
            if pods:
                kind, other = "requeued" if is_requeue else "evicted", decided.beneficiary
                name = view.names.name(other)
                add(
                    now,
                    kind,
                    f"{pods} {'pod' if pods == 1 else 'pods'} {kind} for {name} by {decided.action}",
                    other,
                )
            for decision in decided.decisions:
                notice, back = decision.notify, decision.withdraw_notice
                if notice.pod_group == group.uid:
                    name, when = view.names.name(notice.preemptor), notice.evict_time.ToNanoseconds()
                    add(
                        now,
                        "noticed",
                        f"notice of eviction at {clock(when, now)} for {name}",
                        notice.preemptor,
                    )
                if back.pod_group == group.uid:
                    name = view.names.name(back.preemptor)
                    add(now, "withdrawn", f"notice withdrawn for {name}", back.preemptor)
                if decision.patch.pod_group == group.uid and decision.patch.HasField("last_start_time"):
                    add(decision.patch.last_start_time.ToNanoseconds(), "started", "started")
    events = sorted(found.values())
    return [event for event in events if not _is_repeated(event, events)]


def _is_repeated(event: Event, events: Sequence[Event]) -> bool:
    """Whether an event without details is told by another one close to it."""
    if event.kind != "evicted" or event.other:
        return False
    return any(
        other.kind in ("evicted", "requeued") and other.other and abs(other.time - event.time) <= 2 * SECOND
        for other in events
    )


def _segments(view: View, row: WorkloadRow, events: Sequence[Event]) -> list[tuple[str, int, int, str]]:
    """Times in which it waited and ran. An eviction ends a run only if a start follows or it does not run."""
    starts = [event.time for event in events if event.kind == "started"]
    stops = [event.time for event in events if event.kind in ("evicted", "requeued")]
    is_running = row.state in (State.RUNNING, State.STARTING, State.LEAVING)
    created = events[0].time if events else view.now
    found, free_from = [], created
    for index, start in enumerate(starts):
        following = starts[index + 1] if index + 1 < len(starts) else None
        ended = [stop for stop in stops if stop >= start and (following is None or stop <= following)]
        if following is None and is_running:
            stop = view.now
        elif ended:
            stop = ended[-1]
        else:
            stop = following if following is not None else view.now
        if start > free_from:
            found.append(("waited", free_from, start, "waited"))
        found.append(("ran", start, stop, "ran"))
        free_from = stop
    if not is_running and row.waiting and view.now > free_from:
        found.append(("waited", free_from, view.now, "waits"))
    return found
