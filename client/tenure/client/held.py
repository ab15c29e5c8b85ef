"""What a session holds: a snapshot, and deltas since, carried out only when the result is asked for."""

from typing import Final

from tenure.client.deltas import applied
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

MOST: Final = 100
"""Deltas that wait: carrying them out takes as long as the snapshot is large, however many they are."""


class Held:
    """A state, which does not change. The snapshot is not to be changed either; deltas are copied."""

    def __init__(self, snapshot: ClusterSnapshot, deltas: tuple[StateDelta, ...] = ()) -> None:
        self._snapshot, self._deltas = snapshot, deltas

    def after(self, delta: StateDelta) -> "Held":
        """The state after a delta; the epoch and version of its base are of no account."""
        kept = StateDelta()
        kept.CopyFrom(delta)
        later = Held(self._snapshot, (*self._deltas, kept))
        if len(later._deltas) > MOST:
            later.snapshot()
        return later

    def snapshot(self) -> ClusterSnapshot:
        """All of it."""
        if self._deltas:
            self._snapshot, self._deltas = applied(self._snapshot, *self._deltas), ()
        return self._snapshot
