"""The last responses of every shard, in memory, for programs that show what happens.

They are kept as the bytes that Decide returned, so that a reader costs the server no cycle and no encoding.
"""

import threading
import time
from collections import defaultdict, deque
from typing import Final, NamedTuple

from tenure.codec.encoded_response import EncodedResponse
from tenure.server.shard import Shard
from tenure.v1.cycles_pb2 import ListCyclesResponse, RecentCycle
from tenure.wire.timestamps import timestamp
from tenure.wire.writer import number, tag

MAX_CYCLES: Final = 100
"""Cycles that are kept of a shard."""
MAX_BYTES: Final = 32 * 2**20
"""Bytes that are kept of all shards; the shard with the most loses its oldest cycle first."""
_ROW_BYTES: Final = 1024
"""Memory of a kept cycle beside its response."""


class _Kept(NamedTuple):
    number: int
    content: bytes
    """The serialized response. Its summary may be larger, and is not kept."""
    has_groups: bool
    decided_at: int
    trace_id: str
    caller: str

    @property
    def size(self) -> int:
        return len(self.content) + _ROW_BYTES

    def follows_idly(self, before: "_Kept") -> bool:
        """Whether both cycles decided nothing, so that the earlier one adds nothing."""
        return not (self.has_groups or before.has_groups)

    def to_bytes(self) -> bytes:
        """A RecentCycle, as an element of ListCyclesResponse.cycles."""
        found = RecentCycle(number=self.number, trace_id=self.trace_id, caller=self.caller)
        found.decided_time.CopyFrom(timestamp(self.decided_at))
        response = tag(RecentCycle, "response") + _with_length(self.content)
        return tag(ListCyclesResponse, "cycles") + _with_length(found.SerializeToString() + response)


class RecentCycles:
    """The last cycles of every shard, in memory. Thread-safe."""

    def __init__(self, max_cycles: int = MAX_CYCLES, max_bytes: int = MAX_BYTES) -> None:
        self._max_cycles, self._max_bytes = max_cycles, max_bytes
        self._kept: dict[Shard, deque[_Kept]] = {}
        self._sizes: dict[Shard, int] = defaultdict(int)
        self._last = 0
        self._changing = threading.Lock()

    def add(self, response: EncodedResponse, trace_id: str, caller: str) -> None:
        """Keep a response. One that alone exceeds the limit is not kept."""
        summary, now = response.summary, time.time_ns()
        shard, has_groups = Shard(summary.cluster_id, summary.node_pool), bool(summary.groups)
        with self._changing:
            self._last = max(self._last + 1, now)
            kept = _Kept(self._last, response.content, has_groups, now, trace_id, caller)
            if kept.size > self._max_bytes:
                return
            cycles = self._kept.setdefault(shard, deque())
            if cycles and kept.follows_idly(cycles[-1]):
                self._sizes[shard] -= cycles.pop().size
            cycles.append(kept)
            self._sizes[shard] += kept.size
            if len(cycles) > self._max_cycles:
                self._drop_oldest(shard)
            while sum(self._sizes.values()) > self._max_bytes:
                self._drop_oldest(max(self._sizes, key=self._sizes.__getitem__))

    def _drop_oldest(self, shard: Shard) -> None:
        self._sizes[shard] -= self._kept[shard].popleft().size
        if not self._kept[shard]:
            del self._kept[shard], self._sizes[shard]

    def after(self, shard: Shard, number: int) -> bytes:
        """Kept cycles of a shard with larger numbers, oldest first, as a ListCyclesResponse."""
        with self._changing:
            found = [kept for kept in self._kept.get(shard, ()) if kept.number > number]
        return b"".join(kept.to_bytes() for kept in found)


def _with_length(content: bytes) -> bytes:
    return number(len(content)) + content
