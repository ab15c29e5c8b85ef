"""Epochs of full pushes: one that was used is refused, since its versions already mean something else.

The same push may be repeated, because a caller cannot know whether one without a response arrived.
"""

from collections import OrderedDict
from hashlib import sha256
from typing import Final

from tenure.server.shard import Shard
from tenure.server.state.state import State
from tenure.wire.violations import FieldViolation, SnapshotValidationError, quote_name

MAX_EPOCHS: Final = 100
"""Maximum number of remembered epochs of one cluster and node pool; the oldest is forgotten first."""
MAX_SHARDS: Final = 1_000


class UsedEpochs:
    """The epochs of a server since it started. Not thread-safe: the store holds its lock."""

    def __init__(self) -> None:
        self._used: OrderedDict[Shard, OrderedDict[str, bytes]] = OrderedDict()
        """Digest of the push by epoch."""

    def check(self, shard: Shard, epoch: str, digest: bytes) -> None:
        """Raise SnapshotValidationError if another push used the epoch."""
        if self._used.get(shard, OrderedDict()).get(epoch, digest) != digest:
            problem = f"{quote_name(epoch)} was used by an earlier push: choose a new one, such as a UUID"
            raise SnapshotValidationError([FieldViolation("epoch", problem)])

    def note(self, shard: Shard, epoch: str, digest: bytes) -> None:
        """Remember the epoch of a push that was stored."""
        used = self._used.setdefault(shard, OrderedDict())
        self._used.move_to_end(shard)
        used[epoch] = digest
        if len(used) > MAX_EPOCHS:
            used.popitem(last=False)
        if len(self._used) > MAX_SHARDS:
            self._used.popitem(last=False)


def push_digest(state: State) -> bytes:
    """What a repeated push has in common with the first one: all its rows, also those that are set aside."""
    digest = sha256(state.snapshot.SerializeToString(deterministic=True))
    if state.set_aside is not None:
        digest.update(state.set_aside.rows.SerializeToString(deterministic=True))
    return digest.digest()
