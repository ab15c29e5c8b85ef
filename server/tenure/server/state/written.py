"""The snapshot of a state as a message, written out when somebody reads it: deciding needs no message.

A delta on a state is noted beside the last message that was written. When the notes have grown to a good part
of it, they are worked in, so that memory stays bounded.
"""

from typing import Any, Final, NamedTuple

from tenure.server.state.overlay import overlay
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys

MOST_NOTED: Final = 2
"""Notes may have one byte for so many of the message."""
_HEADER_BYTES: Final = 64
"""Most by which the fields that are no lists make a message larger."""
_LISTS: Final = {"pod_groups": "uid", "pods": "uid", "in_flight_groups": "id"}
"""Lists that may be noted, and the keys of their rows."""


class _Form(NamedTuple):
    base: ClusterSnapshot
    size: int
    """Bytes of the base."""
    notes: tuple[StateDelta, ...] = ()
    noted: int = 0
    """Bytes of the notes, at least."""


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
        """Whether the notes are to be worked in."""
        return self._form.noted * MOST_NOTED > self._form.size

    def after(self, delta: StateDelta) -> "Written":
        """The next version: a delta on this one, which changes the lists alone that may be noted."""
        base, size, notes, noted = self._form
        later = Written.__new__(Written)
        later._form = _Form(base, size, (*notes, delta), noted + _size(delta))
        return later

    def read(self) -> ClusterSnapshot:
        """The message; not to be changed."""
        base, _, notes, _ = self._form
        if not notes:
            return base
        whole = overlay(base, *_together(notes)).snapshot
        whole.version = notes[-1].version
        whole.now.CopyFrom(notes[-1].now)
        self._form = _Form(whole, whole.ByteSize())
        return whole


def _size(delta: StateDelta) -> int:
    return delta.upserts.ByteSize() + delta.removes.ByteSize() + _HEADER_BYTES


def _together(deltas: tuple[StateDelta, ...]) -> tuple[ClusterSnapshot, StateKeys]:
    """What one delta would say instead of several."""
    upserts, removes = ClusterSnapshot(), StateKeys()
    for name, key in _LISTS.items():
        rows: dict[str, Any] = {}
        gone: dict[str, None] = {}
        for delta in deltas:
            for removed in getattr(delta.removes, name):
                rows.pop(removed, None)
                gone[removed] = None
            for row in getattr(delta.upserts, name):
                rows.pop(getattr(row, key), None)
                rows[getattr(row, key)] = row
        getattr(upserts, name).extend(rows.values())
        getattr(removes, name).extend(gone)
    return upserts, removes
