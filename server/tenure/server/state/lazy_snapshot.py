"""The snapshot of a state as a message, written out when somebody reads it: deciding needs no message.

A delta on a state is noted beside the last message that was written. When the notes have grown to a good part
of it, the deltas that follow work them in, each a little (`renewal`), so that memory stays bounded.

Notes worked into the message of a state a little at a time, so that no delta waits for all of it.

The message that results is that of `overlay`.
"""

import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.deltas import KEYS, MergedDelta, change_rows

CHUNK_SIZE: Final = 64
"""Rows that are looked at in one go; columns are one piece."""


class DeltaCompaction:
    """The notes of one version on their way into its message. Several threads may go on with it."""

    def __init__(self, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> None:
        self.count = len(notes)
        """Notes that are worked in."""
        self.snapshot = ClusterSnapshot()
        """The message; not complete before all is done."""
        self._chunks = (
            sum(len(getattr(base, name)) for name in KEYS) // CHUNK_SIZE + self.count + len(KEYS) + 1
        )
        self._steps = _work(self.snapshot, base, notes)
        self._is_done = False
        self._working = threading.Lock()

    def advance(self, part: float) -> bool:
        """Do so large a part of the work, or a little more; whether all of it is done."""
        with self._working:
            for _ in range(int(self._chunks * part) + 1):
                if self._is_done:
                    break
                self._is_done = next(self._steps, False)
            return self._is_done


def _work(whole: ClusterSnapshot, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> Iterator[bool]:
    """One step after the other; True after the last one. It holds no renewal: one that is left halfway is to
    be freed at once, for the collector may never look at it.
    """
    together = MergedDelta()
    for note in notes:
        together.add(note.upserts, note.removals)
        yield False
    last = notes[-1]
    whole.cluster_id, whole.node_pool, whole.version = base.cluster_id, base.node_pool, last.version
    whole.now.CopyFrom(last.now)
    for _ in change_rows(whole, base, together.changes(), CHUNK_SIZE):
        yield False
    yield True


MAX_PENDING_RATIO: Final = 2
"""Notes may have so many bytes for each of the message."""
COMPACTION_START_RATIO: Final = 0.5
"""From so many on they are worked in."""
COMPACTION_LENGTH_RATIO: Final = 0.75
"""That is over when so many more have come, which are left for the next time."""
_HEADER_BYTES: Final = 64
"""Most by which the fields that are no lists make a message larger."""


class _Form(NamedTuple):
    base: ClusterSnapshot
    size: int
    """Bytes of the base."""
    deltas: tuple[StateDelta, ...] = ()
    delta_bytes: int = 0
    """Bytes of the notes, at least."""
    compaction: DeltaCompaction | None = None
    """Works the first of the notes in."""


class LazySnapshot:
    """One version of a state. Several threads may read it at a time: its form is replaced as a whole."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._form = _Form(snapshot, snapshot.ByteSize())

    @property
    def size(self) -> int:
        """Bytes of the message; while there are notes, it may have less."""
        return self._form.size + self._form.delta_bytes

    @property
    def is_long(self) -> bool:
        """Whether the notes are to be worked in at once."""
        return self._form.delta_bytes > self._form.size * MAX_PENDING_RATIO

    def with_delta(self, delta: StateDelta) -> "LazySnapshot":
        """The next version: a delta on this one, which changes the lists alone that may be noted."""
        base, size, notes, noted, renewal = self._form
        more = _size(delta)
        notes, noted = (*notes, delta), noted + more
        if renewal is None and noted > size * COMPACTION_START_RATIO:
            renewal = DeltaCompaction(base, notes)
        later = LazySnapshot.__new__(LazySnapshot)
        later._form = _Form(base, size, notes, noted, renewal)
        if renewal is not None and renewal.advance(more / (size * COMPACTION_LENGTH_RATIO)):
            notes = notes[renewal.count :]
            later._form = _Form(renewal.snapshot, renewal.snapshot.ByteSize(), notes, sum(map(_size, notes)))
        return later

    def read(self) -> ClusterSnapshot:
        """The message; not to be changed."""
        base, _, notes, _, _ = self._form
        if not notes:
            return base
        whole = ClusterSnapshot()
        for _ in _work(whole, base, notes):
            pass
        self._form = _Form(whole, whole.ByteSize())
        return whole


def _size(delta: StateDelta) -> int:
    return delta.upserts.ByteSize() + delta.removals.ByteSize() + _HEADER_BYTES
