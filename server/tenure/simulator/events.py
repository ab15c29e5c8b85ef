"""Events of a run in order of time. At equal times the kinds have a fixed order, then that of creation."""

import heapq
from enum import IntEnum
from typing import NamedTuple


class EventKind(IntEnum):
    """Kinds of events, in their order at equal times."""

    COMPLETION = 1
    TERMINATION_DONE = 2
    STARTED = 3
    """The pods of a start run, after the start delay."""
    NODE_BACK = 4
    NODE_LOST = 5
    ARRIVAL = 6
    TIMER = 7
    CYCLE = 8


class Event(NamedTuple):
    """One event, in nanoseconds."""

    time: int
    kind: EventKind
    number: int
    """Order of creation."""
    subject: str = ""
    """Job or node."""
    ticket: int = 0
    """An event whose subject has another ticket by now is out of date."""


class EventQueue:
    """A heap of events."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0
        self.work = 0
        """Events that can change the cluster: neither timers nor cycles."""

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, time: int, kind: EventKind, subject: str = "", ticket: int = 0) -> None:
        """Add an event."""
        self._number += 1
        self.work += kind < EventKind.TIMER
        heapq.heappush(self._heap, Event(time, kind, self._number, subject, ticket))

    def next_time(self) -> int:
        """Time of the next event. There must be one."""
        return self._heap[0].time

    def pop(self) -> Event:
        """Remove the next event. There must be one."""
        event = heapq.heappop(self._heap)
        self.work -= event.kind < EventKind.TIMER
        return event
