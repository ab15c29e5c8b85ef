"""Notes worked into the message of a state a little at a time, so that no delta waits for all of it.

The message that results is that of `overlay`.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tenure.server.state.columns import without
from tenure.server.state.overlay import KEYS
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

PIECE: Final = 64
"""Rows that are looked at in one go; columns are one piece."""
LISTS: Final[Mapping[str, str]] = {"pod_groups": "uid", "pods": "uid", "in_flight_groups": "id"}
"""Lists that may be noted, and the keys of their rows."""


class Together:
    """What one delta would say instead of several."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {name: {} for name in LISTS}
        """What is there by list and key, in the order in which it came."""
        self.gone: dict[str, dict[str, None]] = {name: {} for name in LISTS}
        """What is not there any more, or other than it was."""

    def add(self, delta: StateDelta) -> None:
        """One delta more, after all others."""
        for name, key in LISTS.items():
            rows, gone = self.rows[name], self.gone[name]
            for removed in getattr(delta.removes, name):
                rows.pop(removed, None)
                gone[removed] = None
            for row in getattr(delta.upserts, name):
                uid = getattr(row, key)
                rows.pop(uid, None)
                rows[uid] = row
                gone[uid] = None


class Renewal:
    """The notes of one version on their way into its message. Several threads may go on with it."""

    def __init__(self, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> None:
        self.count = len(notes)
        """Notes that are worked in."""
        self.whole = ClusterSnapshot()
        """The message; not complete before all is done."""
        self._pieces = sum(len(getattr(base, name)) for name in KEYS) // PIECE + self.count + len(KEYS) + 1
        self._steps = _work(self.whole, base, notes)
        self._is_done = False
        self._one_works = threading.Lock()

    def go_on(self, part: float) -> bool:
        """Do so large a part of the work, or a little more; whether all of it is done."""
        with self._one_works:
            for _ in range(int(self._pieces * part) + 1):
                if self._is_done:
                    break
                self._is_done = next(self._steps, False)
            return self._is_done


def _work(whole: ClusterSnapshot, base: ClusterSnapshot, notes: tuple[StateDelta, ...]) -> Iterator[bool]:
    """One step after the other; True after the last one. It holds no renewal: one that is left halfway is to
    be freed at once, for the collector may never look at it.
    """
    together = Together()
    for note in notes:
        together.add(note)
        yield False
    last = notes[-1]
    whole.cluster_id, whole.node_pool, whole.version = base.cluster_id, base.node_pool, last.version
    whole.now.CopyFrom(last.now)
    for name, key in KEYS.items():
        kept, rows, gone = getattr(base, name), getattr(whole, name), together.gone.get(name, {})
        for start in range(0, len(kept), PIECE):
            rows.extend([row for row in kept[start : start + PIECE] if key(row) not in gone])
            yield False
        rows.extend(together.rows.get(name, {}).values())
        yield False
    whole.pod_columns.CopyFrom(without(base.pod_columns, together.gone["pods"]))
    yield True
