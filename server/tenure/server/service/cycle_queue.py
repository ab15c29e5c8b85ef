"""Queue of calls that wait for a cycle.

Cycles of one shard run one after the other; those of different shards run concurrently, up to `max_cycles`.
Waiting callers are served round-robin, one cycle each, and so are the shards of a caller: neither a caller
nor a shard with many calls delays one with few. While there are several callers, none of them runs cycles in
all slots, so that the next call of another one begins at once. Cycles of a caller with many calls pause while
one of a caller with few calls runs (`running_cycles`).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import grpc
from tenure.server.deadlines import CallDeadline, CutShort, Deadline
from tenure.server.service.admission import TooManyCalls
from tenure.server.service.recent_callers import RecentCallers
from tenure.server.service.running_cycles import RunningCycles
from tenure.server.shard import Shard


class CycleQueueTimeout(TimeoutError):
    """The deadline passed while the call was queued."""


class _QueuedCall:
    """A queued call."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_over = threading.Event()
        """Set when its cycle may begin, or it is pushed out."""
        self.is_pushed_out = False


class CycleQueue:
    """Admits `max_concurrent` calls at a time, while at most `max_queued` others wait."""

    def __init__(
        self, max_concurrent: int, max_queued: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free_slots = max_concurrent
        self._max_queued = max_queued
        self._max_of_a_caller = max(max_concurrent - 1, 1)
        """Maximum number of cycles of a caller that is not the only one."""
        self._running = RunningCycles(clock, self._rebalance)
        self._recent = RecentCallers(clock)
        self._waiting: dict[str, dict[Shard, deque[_QueuedCall]]] = {}
        """Queued calls by caller and shard; the caller to serve next is first, and so is its shard."""
        self._numbers = count(1)
        self._changing = threading.Lock()
        self._is_cut_short = CutShort()

    @contextmanager
    def acquire(self, shard: Shard, seconds: float, caller: str = "") -> Iterator[Deadline]:
        """Wait for a cycle of the shard, at most the given seconds; yield the deadline of the cycle.

        Raises CycleQueueTimeout if the time runs out, TooManyCalls if too many calls are queued, or if the
        call is pushed out.
        """
        begin = time.monotonic()
        self._wait(caller, shard, seconds)
        try:
            waited = time.monotonic() - begin
            yield Deadline(seconds - waited, self._is_cut_short, self._running[shard].pause)
        finally:
            self._release(shard)

    def call_deadline(self, context: grpc.ServicerContext) -> CallDeadline:
        """Deadline of a call for the work before its cycle, or without one."""
        return CallDeadline(context.time_remaining(), context.is_active, self._is_cut_short)

    def load(self) -> tuple[int, int]:
        """Running cycles and queued calls."""
        with self._changing:
            return len(self._running), self._queued()

    def cut_short(self) -> None:
        """Stop every cycle, now and later, as soon as possible, with the decisions made so far."""
        self._is_cut_short.is_set = True

    def push_out(self, caller: str) -> bool:
        """End the latest queued call of a caller with TooManyCalls; return whether there was one."""
        with self._changing:
            if caller not in self._waiting:
                return False
            self._push_out(caller)
            return True

    def _wait(self, caller: str, shard: Shard, seconds: float) -> None:
        with self._changing:
            self._recent.remember(caller)
            if self._free_slots and not self._waiting and self._can_run(caller, shard):
                self._run(caller, shard)
                return
            call = _QueuedCall(next(self._numbers))
            self._waiting.setdefault(caller, {}).setdefault(shard, deque()).append(call)
            self._serve()
            if not call.is_over.is_set() and self._queued() > self._max_queued:
                self._push_out(self._noisiest(caller))
        if not call.is_over.wait(min(seconds, threading.TIMEOUT_MAX)):
            with self._changing:
                if not call.is_over.is_set():
                    self._cancel_wait(caller, shard, call)
                    raise CycleQueueTimeout
        if call.is_pushed_out:
            raise TooManyCalls

    def _release(self, shard: Shard) -> None:
        with self._changing:
            self._running.end(shard)
            self._free_slots += 1
            self._serve()
            self._running.balance(self._calls)

    def _serve(self) -> None:
        """Admit queued calls while cycles are free. Served callers and shards move to the end."""
        while self._free_slots and (found := self._next()) is not None:
            caller, shard = found
            shards = self._waiting.pop(caller)
            waiting = shards.pop(shard)
            call = waiting.popleft()
            if waiting:
                shards[shard] = waiting
            if shards:
                self._waiting[caller] = shards
            self._run(caller, shard)
            call.is_over.set()

    def _run(self, caller: str, shard: Shard) -> None:
        self._running.begin(shard, caller)
        self._free_slots -= 1
        self._running.balance(self._calls)

    def _can_run(self, caller: str, shard: Shard) -> bool:
        """Whether the shard is free, and a slot is left for other callers, if there are any."""
        if shard in self._running:
            return False
        if self._running.count(caller) < self._max_of_a_caller:
            return True
        return next(self._recent.others(caller), None) is None

    def _next(self) -> tuple[str, Shard] | None:
        return next(
            (
                (caller, shard)
                for caller, shards in self._waiting.items()
                for shard in shards
                if self._can_run(caller, shard)
            ),
            None,
        )

    def _rebalance(self) -> None:
        with self._changing:
            self._running.balance(self._calls)

    def _calls(self, caller: str) -> int:
        """Running cycles and queued calls of a caller."""
        return self._running.count(caller) + _length(self._waiting.get(caller, {}))

    def _queued(self) -> int:
        return sum(map(_length, self._waiting.values()))

    def _noisiest(self, newcomer: str) -> str:
        """Caller with the most queued calls; the newcomer, if it is one of them."""
        return max(self._waiting, key=lambda caller: (_length(self._waiting[caller]), caller == newcomer))

    def _push_out(self, caller: str) -> None:
        shards = self._waiting[caller]
        shard = max(shards, key=lambda shard: shards[shard][-1].number)
        call = shards[shard][-1]
        self._cancel_wait(caller, shard, call)
        call.is_pushed_out = True
        call.is_over.set()

    def _cancel_wait(self, caller: str, shard: Shard, call: _QueuedCall) -> None:
        shards = self._waiting[caller]
        shards[shard].remove(call)
        if not shards[shard]:
            del shards[shard]
        if not shards:
            del self._waiting[caller]


def _length(shards: dict[Shard, deque[_QueuedCall]]) -> int:
    return sum(map(len, shards.values()))
