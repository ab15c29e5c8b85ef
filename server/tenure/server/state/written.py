"""The snapshot of a state as a message, written out when somebody reads it: deciding needs no message.

A delta on a state is noted beside the last message that was written. When the notes have grown to a good part
of it, the deltas that follow work them in, each a little (`renewal`), so that memory stays bounded.
"""

from typing import Final, NamedTuple

from tenure.server.state.overlay import overlay
from tenure.server.state.renewal import LISTS, Renewal, Together
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys

MOST_NOTED: Final = 2
"""Notes may have so many bytes for each of the message."""
RENEWED_AT: Final = 0.5
"""From so many on they are worked in."""
RENEWED_BY: Final = 0.75
"""That is over when so many more have come, which are left for the next time."""
_HEADER_BYTES: Final = 64
"""Most by which the fields that are no lists make a message larger."""


class _Form(NamedTuple):
    base: ClusterSnapshot
    size: int
    """Bytes of the base."""
    notes: tuple[StateDelta, ...] = ()
    noted: int = 0
    """Bytes of the notes, at least."""
    renewal: Renewal | None = None
    """Works the first of the notes in."""


class Written:
    """One version of a state. Several threads may read it at a time: its form is replaced as a whole."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._form = _Form(snapshot, snapshot.ByteSize())

    @property
    def size(self) -> int:
        """Bytes of the message; while there are notes, it may have less."""
        return self._form.size + self._form.noted

    @property
    def is_long(self) -> bool:
        """Whether the notes are to be worked in at once."""
        return self._form.noted > self._form.size * MOST_NOTED

    def after(self, delta: StateDelta) -> "Written":
        """The next version: a delta on this one, which changes the lists alone that may be noted."""
        base, size, notes, noted, renewal = self._form
        more = _size(delta)
        notes, noted = (*notes, delta), noted + more
        if renewal is None and noted > size * RENEWED_AT:
            renewal = Renewal(base, notes)
        later = Written.__new__(Written)
        later._form = _Form(base, size, notes, noted, renewal)
        if renewal is not None and renewal.go_on(more / (size * RENEWED_BY)):
            notes = notes[renewal.count :]
            later._form = _Form(renewal.whole, renewal.whole.ByteSize(), notes, sum(map(_size, notes)))
        return later

    def read(self) -> ClusterSnapshot:
        """The message; not to be changed."""
        base, _, notes, _, _ = self._form
        if not notes:
            return base
        whole = overlay(base, *_as_delta(notes)).snapshot
        whole.version = notes[-1].version
        whole.now.CopyFrom(notes[-1].now)
        self._form = _Form(whole, whole.ByteSize())
        return whole


def _size(delta: StateDelta) -> int:
    return delta.upserts.ByteSize() + delta.removes.ByteSize() + _HEADER_BYTES


def _as_delta(notes: tuple[StateDelta, ...]) -> tuple[ClusterSnapshot, StateKeys]:
    """What one delta would say instead of several."""
    together = Together()
    for note in notes:
        together.add(note)
    upserts, removes = ClusterSnapshot(), StateKeys()
    for name in LISTS:
        getattr(upserts, name).extend(together.rows[name].values())
        getattr(removes, name).extend(together.gone[name])
    return upserts, removes
