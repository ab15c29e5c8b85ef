"""Epochs of full pushes: one that was used is refused, since its versions already mean something else.

The same push may be repeated, because a caller cannot know whether one without a response arrived.
"""

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from tenure.server.shard import Shard
from tenure.server.state.state import State
from tenure.wire.violations import FieldViolation, SnapshotValidationError, quote_name

MAX_EPOCHS: Final = 100
"""Maximum number of remembered epochs of one cluster and node pool; the oldest is forgotten first."""
MAX_SHARDS: Final = 1_000


class _Push(NamedTuple):
    """What a repeated push has in common with the first one."""

    version: int
    now: int
    size: int
    """Bytes of the snapshot."""


class UsedEpochs:
    """The epochs of a server since it started. Thread-safe."""

    def __init__(self) -> None:
        self._used: OrderedDict[Shard, OrderedDict[str, _Push]] = OrderedDict()
        self._changing = threading.Lock()

    def use(self, state: State) -> None:
        """Note the epoch of a full push. Raises SnapshotValidationError if another one used it."""
        push = _Push(state.header.version, state.cluster.now, state.snapshot.ByteSize())
        with self._changing:
            used = self._used.setdefault(state.shard, OrderedDict())
            self._used.move_to_end(state.shard)
            if used.setdefault(state.epoch, push) != push:
                name = quote_name(state.epoch)
                problem = f"{name} was used by an earlier push: choose a new one, such as a UUID"
                raise SnapshotValidationError([FieldViolation("epoch", problem)])
            if len(used) > MAX_EPOCHS:
                used.popitem(last=False)
            if len(self._used) > MAX_SHARDS:
                self._used.popitem(last=False)
