"""One entry of the store: a state that is decoded, at rest, or both while a call uses it.

A decoded state takes many times the memory of its message. At rest, only the message is kept, and references
to the state stay valid: it is decoded again for the next call, and freed as soon as no call uses it.
"""

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tenure.codec.decode import decode
from tenure.codec.incremental_decode import with_base
from tenure.server.installed import installed_registry
from tenure.server.state.lazy_snapshot import LazySnapshot
from tenure.server.state.lineage import Lineage
from tenure.server.state.set_aside import SetAside
from tenure.server.state.state import State, header_of
from tenure.terms.cancellation import no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot

KEPT_FACTOR: Final = 12
"""A decoded state that takes more than this multiple of its message rests soon after its last use."""
KEPT_BYTES: Final = 64 * 2**20
"""Memory that it may take in addition, in bytes: rows with minimal texts take as much memory as others."""
LARGE_REST_SECONDS: Final = 10.0
"""Time after which such a state rests."""


@dataclass(frozen=True)
class RestingState:
    """A state as bytes."""

    epoch: str
    content: bytes
    """The complete snapshot."""
    delta_digest: bytes
    lineage: Lineage
    decoded_bytes: int
    """Memory of the state when it is decoded."""
    set_aside: SetAside | None

    @classmethod
    def of(cls, state: State) -> "RestingState":
        """Serialize the snapshot of a state."""
        content = state.snapshot.SerializeToString()
        digest, lineage = state.delta_digest, state.lineage
        return cls(state.epoch, content, digest, lineage, state.memory_bytes, state.set_aside)

    @property
    def memory_bytes(self) -> int:
        """Memory that it takes."""
        set_aside = 0 if self.set_aside is None else self.set_aside.rows.ByteSize()
        return len(self.content) + self.lineage.size + set_aside

    def wake(self, check: Callable[[], None] = no_check) -> State:
        """The decoded state. `check` raises when the call that uses it has ended."""
        snapshot = ClusterSnapshot.FromString(self.content)
        decoded = with_base(decode(snapshot, installed_registry().guarded.names, check), snapshot, check)
        return State(
            *(self.epoch, header_of(snapshot), LazySnapshot(snapshot), decoded, self.delta_digest),
            lineage=self.lineage,
            set_aside=self.set_aside,
        )


class StoredState:
    """A state, who pushed it, and when it was used. Guarded by the lock of the store, except for `waking`."""

    def __init__(self, state: State, caller: str, now: float) -> None:
        self.epoch = state.epoch
        self.version = state.header.version
        self.caller = caller
        self.used = now
        self.waking = threading.Lock()
        """Held by the thread that decodes the state."""
        self._resting: RestingState | None = None
        self._kept: State | None = None
        """The decoded state, unless it rests."""
        self._woken_bytes = 0
        """Memory of the state that is being decoded, beyond that of its message."""
        self.set_decoded(state)

    @property
    def decoded(self) -> State | None:
        """The decoded state; None if it rests and no call uses it."""
        return self._in_use()

    @property
    def is_kept(self) -> bool:
        """Whether the decoded state stays when no call uses it."""
        return self._kept is not None

    @property
    def used_bytes(self) -> int:
        """Memory that dropping it does not free: it is at rest already, but a call uses it."""
        state = None if self.is_kept else self._in_use()
        return self._woken_bytes if state is None else state.memory_bytes

    @property
    def memory_bytes(self) -> int:
        """Memory that it takes."""
        resting = 0 if self._resting is None else self._resting.memory_bytes
        kept = 0 if self._kept is None else self._kept.memory_bytes
        return resting + kept + self.used_bytes

    def begin_waking(self) -> RestingState:
        """Count the memory of the decoded state from now on; return what is to be decoded."""
        assert self._resting is not None
        self._woken_bytes = max(self._resting.decoded_bytes - self._resting.memory_bytes, 0)
        return self._resting

    def set_decoded(self, state: State | None) -> None:
        """Set the state that was decoded; None if that failed."""
        self._woken_bytes = 0
        if state is not None:
            self._in_use = weakref.ref(state)
            self._kept, self._resting = state, None

    def rests_at(self, rest_seconds: float) -> float:
        """When the decoded state is put to rest if it is not used; `rest_seconds` is for usual states."""
        assert self._kept is not None
        is_large = self._kept.memory_bytes > self._kept.size * KEPT_FACTOR + KEPT_BYTES
        return self.used + (min(LARGE_REST_SECONDS, rest_seconds) if is_large else rest_seconds)

    def set_resting(self, resting: RestingState) -> None:
        """Free the decoded state as soon as no call uses it."""
        self._kept, self._resting = None, resting
