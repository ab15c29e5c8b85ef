"""Conditions and events that are to be written: of each object the last condition, when it is due."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from tenure.kubernetes.apply.conditions import SchedulingCondition
from tenure.kubernetes.apply.events import PendingEvent
from tenure.kubernetes.limits.set_aside import QUEUE_FORBIDDEN, SET_ASIDE
from tenure.kubernetes.objects.meta import ObjectReference

SET_ASIDE_REASONS: Final = (SET_ASIDE, QUEUE_FORBIDDEN)
"""Reasons of objects that are set aside."""
_MOST: Final = 10_000
"""Maximum number of events, and of objects that are set aside; the oldest are dropped."""
_MOST_TRIES: Final = 5
"""Maximum number of attempts to write an event: late news is of little use."""
_SET_ASIDE_AT_ONCE: Final = 50
"""Maximum number of objects that are set aside and due at once, and of pods of all but the first of them."""


class PendingStatus(NamedTuple):
    """The condition of a pod group, or of another object that is set aside."""

    condition: SchedulingCondition
    subject: ObjectReference | None
    """None: a derived pod group."""
    pods: list[str]
    not_before: float
    """By the monotonic clock."""


class PendingStatuses:
    """Conditions by uid, and events. For several threads."""

    def __init__(self) -> None:
        self._statuses: dict[str, PendingStatus] = {}
        self._events: deque[PendingEvent] = deque(maxlen=_MOST)
        self._failed: deque[tuple[float, PendingEvent]] = deque(maxlen=_MOST)
        """Events that could not be written, with the time of the next attempt; of one thread."""
        self._changing = threading.Lock()

    def find(self, uid: str) -> PendingStatus | None:
        """The condition of an object, if it is not written yet."""
        return self._statuses.get(uid)

    def put(self, statuses: Mapping[str, PendingStatus], events: Iterable[PendingEvent] = ()) -> None:
        """Add events, and conditions that replace earlier ones."""
        with self._changing:
            self._statuses = {**self._statuses, **statuses}
            self._events.extend(events)
            aside = [uid for uid, one in self._statuses.items() if _is_set_aside(one)]
            for uid in aside[: max(len(aside) - _MOST, 0)]:
                del self._statuses[uid]

    def put_back(self, uid: str, status: PendingStatus) -> None:
        """Add a condition, unless there is a later one."""
        with self._changing:
            self._statuses.setdefault(uid, status)

    def put_back_event(self, event: PendingEvent, not_before: float) -> None:
        """Write an event again, not before a time that is later than those of earlier calls."""
        if event.tries < _MOST_TRIES:
            self._failed.append((not_before, event._replace(tries=event.tries + 1)))

    def take_due(
        self, is_due: Callable[[str, PendingStatus], bool]
    ) -> tuple[list[PendingEvent], dict[str, PendingStatus]]:
        """All new events, and the failed events and conditions that are due.

        A tenant can have many objects that are set aside, with many pods: a few of them are due at once,
        after the others.
        """
        now = time.monotonic()
        with self._changing:
            events = list(self._events)
            self._events.clear()
            while self._failed and self._failed[0][0] <= now:
                events.append(self._failed.popleft()[1])
            found = {uid: status for uid, status in self._statuses.items() if is_due(uid, status)}
            aside = {uid: status for uid, status in found.items() if _is_set_aside(status)}
            due = {uid: status for uid, status in found.items() if uid not in aside}
            due.update(_first(aside))
            for uid in due:
                del self._statuses[uid]
        return events, due


def _first(statuses: Mapping[str, PendingStatus]) -> Iterator[tuple[str, PendingStatus]]:
    """The first objects with few pods together, and at least one object."""
    pods = 0
    for uid, status in islice(statuses.items(), _SET_ASIDE_AT_ONCE):
        pods += len(status.pods)
        yield uid, status
        if pods >= _SET_ASIDE_AT_ONCE:
            return


def _is_set_aside(status: PendingStatus) -> bool:
    return status.condition.reason in SET_ASIDE_REASONS
