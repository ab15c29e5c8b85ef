"""Queue of calls that wait for a cycle.

Cycles of one shard run one after the other; those of different shards run concurrently, up to `max_cycles`.
Waiting shards are served round-robin, one cycle each, so that a shard with many calls does not delay a shard
with few.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from tenure.server.service.stream_timeouts import TooManyCalls
from tenure.server.shard import CallDeadline, Deadline, Shard


class CycleQueueTimeout(TimeoutError):
    """The deadline passed while the call was queued."""


class CycleQueue:
    """Hands out turns: `max_concurrent` at a time, while at most `max_queued` calls wait for one."""

    def __init__(self, max_concurrent: int, max_queued: int) -> None:
        self._free_slots = max_concurrent
        self._max_queued = max_queued
        self._running: set[Shard] = set()
        self._waiting: dict[Shard, deque[threading.Event]] = {}
        """Queued calls by shard; the shard to serve next is first."""
        self._changing = threading.Lock()
        self._is_cut_short = threading.Event()

    @contextmanager
    def acquire(self, shard: Shard, seconds: float) -> Iterator[Deadline]:
        """Wait for a cycle of the shard, at most the given seconds; yield the deadline of the cycle.

        Raises CycleQueueTimeout if the time runs out, TooManyCalls if too many calls are queued.
        """
        begin = time.monotonic()
        self._wait(shard, seconds)
        try:
            yield Deadline(seconds - (time.monotonic() - begin), self._is_cut_short)
        finally:
            self._release(shard)

    def call_deadline(self, context: grpc.ServicerContext) -> CallDeadline:
        """Deadline of a call for the work before its cycle, or without one."""
        return CallDeadline(context.time_remaining(), context.is_active, self._is_cut_short)

    def load(self) -> tuple[int, int]:
        """Running cycles and queued calls."""
        with self._changing:
            return len(self._running), sum(map(len, self._waiting.values()))

    def cut_short(self) -> None:
        """Stop every cycle, now and later, as soon as possible, with the decisions made so far."""
        self._is_cut_short.set()

    def _wait(self, shard: Shard, seconds: float) -> None:
        with self._changing:
            if self._free_slots and not self._waiting and shard not in self._running:
                self._run(shard)
                return
            turn = threading.Event()
            self._waiting.setdefault(shard, deque()).append(turn)
            self._serve()
            if not turn.is_set() and sum(map(len, self._waiting.values())) > self._max_queued:
                self._cancel_wait(shard, turn)
                raise TooManyCalls
        if turn.wait(min(seconds, threading.TIMEOUT_MAX)):
            return
        with self._changing:
            if turn.is_set():
                return
            self._cancel_wait(shard, turn)
        raise CycleQueueTimeout

    def _release(self, shard: Shard) -> None:
        with self._changing:
            self._running.discard(shard)
            self._free_slots += 1
            self._serve()

    def _serve(self) -> None:
        """Admit queued calls while cycles are free. A served shard moves to the end of the round."""
        while self._free_slots and (shard := self._next()) is not None:
            waiting = self._waiting.pop(shard)
            waiting.popleft().set()
            if waiting:
                self._waiting[shard] = waiting
            self._run(shard)

    def _run(self, shard: Shard) -> None:
        self._running.add(shard)
        self._free_slots -= 1

    def _next(self) -> Shard | None:
        return next((shard for shard in self._waiting if shard not in self._running), None)

    def _cancel_wait(self, shard: Shard, turn: threading.Event) -> None:
        self._waiting[shard].remove(turn)
        if not self._waiting[shard]:
            del self._waiting[shard]
