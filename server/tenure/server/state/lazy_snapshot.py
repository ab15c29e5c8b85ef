"""Snapshot of a state as a message, built when it is read; decisions do not need it.

Deltas are stored next to the last built message. When they reach a considerable fraction of its size, each
further delta merges a part of them (`DeltaCompaction`): memory stays limited, and no delta waits for the
whole merge. The resulting message is that of `overlay`.
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
    """Incremental merge of deltas into the message of one version. Several threads may advance it."""

    def __init__(self, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> None:
        self.count = len(notes)
        """Number of merged deltas."""
        self.snapshot = ClusterSnapshot()
        """The message; incomplete until the merge is done."""
        self._chunks = (
            sum(len(getattr(base, name)) for name in KEYS) // CHUNK_SIZE + self.count + len(KEYS) + 1
        )
        self._steps = _work(self.snapshot, base, notes)
        self._is_done = False
        self._working = threading.Lock()

    def advance(self, part: float) -> bool:
        """Do at least the given fraction of the work; return whether all is done."""
        with self._working:
            for _ in range(int(self._chunks * part) + 1):
                if self._is_done:
                    break
                self._is_done = next(self._steps, False)
            return self._is_done


def _work(whole: ClusterSnapshot, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> Iterator[bool]:
    """Merge step by step; yields True after the last step.

    Does not refer to the compaction: an abandoned one must be freed at once, since the collector may never
    scan it.
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
"""Maximum size of pending deltas, as a multiple of the message size."""
COMPACTION_START_RATIO: Final = 0.5
"""Size of pending deltas at which compaction starts, as a multiple of the message size."""
COMPACTION_LENGTH_RATIO: Final = 0.75
"""Size of further deltas within which compaction ends; they remain for the next one."""
_HEADER_BYTES: Final = 64
"""Maximum growth of a message by fields that are not lists, in bytes."""


class _Form(NamedTuple):
    base: ClusterSnapshot
    size: int
    """Bytes of the base."""
    deltas: tuple[StateDelta, ...] = ()
    delta_bytes: int = 0
    """Bytes of the deltas, at least."""
    compaction: DeltaCompaction | None = None
    """Merges the oldest deltas."""


class LazySnapshot:
    """One version of a state. Thread-safe for readers: its form is replaced atomically."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._form = _Form(snapshot, snapshot.ByteSize())

    @property
    def size(self) -> int:
        """Bytes of the message; an upper bound while deltas are pending."""
        return self._form.size + self._form.delta_bytes

    @property
    def is_long(self) -> bool:
        """Whether the deltas must be merged at once."""
        return self._form.delta_bytes > self._form.size * MAX_PENDING_RATIO

    def with_delta(self, delta: StateDelta) -> "LazySnapshot":
        """Next version: apply a delta that changes mergeable lists only."""
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
        """The message; must not be changed."""
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
