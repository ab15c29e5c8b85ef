"""A bounded queue between those who decide and the one who writes."""

import threading
from collections import deque
from typing import Final

from tenure.server.records.entries import Entry

MAX_ENTRIES: Final = 1_000
MAX_BYTES: Final = 64 * 2**20
MAX_BATCH: Final = 64
"""Entries that are written together."""


class Backlog:
    """Holds entries until they are taken. Giving never waits; when nothing is held, any size is taken."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def offer(self, entry: Entry) -> bool:
        """Add an entry at the end; whether there was room."""
        weight = entry.weight
        with self._changed:
            is_full = len(self._entries) >= self._max_entries or self._bytes + weight > self._max_bytes
            if self._is_closed or (self._entries and is_full):
                return False
            self._entries.append(entry)
            self._bytes += weight
            self._changed.notify()
            return True

    def take(self) -> list[Entry]:
        """The first entries, waited for; none when it is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self._is_closed)
            batch = [self._entries.popleft() for _ in range(min(MAX_BATCH, len(self._entries)))]
            self._bytes -= sum(entry.weight for entry in batch)
            return batch

    def close(self) -> None:
        """Take no more entries; those that are held can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
