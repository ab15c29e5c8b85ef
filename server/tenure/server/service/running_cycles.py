"""Running cycles, and which of them pause while another one runs.

Cycles in threads share one interpreter, so two of them take twice as long each. A cycle of a caller with
many calls therefore pauses while one of a caller with few calls runs. The caller with few calls gets at most
PREFERENCE times the time of the other, so that both make progress.
"""

import math
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tenure.server.deadlines import CyclePause
from tenure.server.shard import Shard

PREFERENCE: Final = 4.0
"""Maximum recent running time of a preferred caller, as a multiple of that of another one."""
MANY: Final = 4
"""A caller has many calls if it has that many times the calls of another one."""
HALF_LIFE_SECONDS: Final = 2.0
"""Time after which running time counts half."""
LOOK_SECONDS: Final = 0.005
"""How often a paused cycle looks whether it can continue."""
_MANY_TIMES: Final = 64
"""Number of callers whose times are kept without a look."""


class RunningCycle:
    """A cycle of a caller. Its thread checks every few steps whether it is paused."""

    def __init__(self, caller: str, now: float, rebalance: Callable[[], None]) -> None:
        self.caller = caller
        self.since = now
        """Its running time is counted until then."""
        self.pause = CyclePause(self._wait)
        self._rebalance = rebalance

    def _wait(self) -> None:
        """Wait for a moment, and look whether the cycle can continue.

        It is not woken when the other cycle ends, so that the response of that one is sent first.
        """
        time.sleep(LOOK_SECONDS)
        self._rebalance()


class _RunningTime(NamedTuple):
    """Recent running time of a caller, as of a time."""

    seconds: float
    at: float

    def seconds_at(self, now: float) -> float:
        return self.seconds * math.pow(0.5, (now - self.at) / HALF_LIFE_SECONDS)


class RunningCycles:
    """The running cycles by shard. Not thread-safe: `rebalance` takes the lock of the owner first."""

    def __init__(self, clock: Callable[[], float], rebalance: Callable[[], None]) -> None:
        self._clock = clock
        self._rebalance = rebalance
        self._cycles: dict[Shard, RunningCycle] = {}
        self._times: dict[str, _RunningTime] = {}

    def __contains__(self, shard: Shard) -> bool:
        return shard in self._cycles

    def __getitem__(self, shard: Shard) -> RunningCycle:
        return self._cycles[shard]

    def __len__(self) -> int:
        return len(self._cycles)

    def count(self, caller: str) -> int:
        """Number of running cycles of a caller."""
        return sum(cycle.caller == caller for cycle in self._cycles.values())

    def begin(self, shard: Shard, caller: str) -> None:
        """Add a cycle."""
        self._cycles[shard] = RunningCycle(caller, self._clock(), self._rebalance)

    def end(self, shard: Shard) -> None:
        """Remove a cycle."""
        now = self._clock()
        self._count_time(self._cycles.pop(shard), now)
        if len(self._times) > _MANY_TIMES:
            self._forget(now)

    def _forget(self, now: float) -> None:
        """Forget the times of callers that have no cycle and ran long ago."""
        callers = {cycle.caller for cycle in self._cycles.values()}
        self._times = {
            caller: time
            for caller, time in self._times.items()
            if caller in callers or time.seconds_at(now) > LOOK_SECONDS
        }

    def balance(self, calls: Callable[[str], int]) -> None:
        """Pause and resume cycles, given the number of calls of each caller."""
        cycles = self._cycles.values()
        if len(cycles) <= 1:
            for cycle in cycles:
                cycle.pause.is_paused = False
            return
        now = self._clock()
        for cycle in cycles:
            self._count_time(cycle, now)
        counts = {cycle.caller: calls(cycle.caller) for cycle in cycles}
        for cycle in cycles:
            others = (caller for caller in counts if caller != cycle.caller)
            cycle.pause.is_paused = any(
                self._goes_first(other, cycle.caller, counts, now) for other in others
            )

    def _goes_first(self, caller: str, other: str, counts: dict[str, int], now: float) -> bool:
        if counts[other] < MANY * counts[caller]:
            return False
        return self._seconds(caller, now) <= PREFERENCE * self._seconds(other, now)

    def _count_time(self, cycle: RunningCycle, now: float) -> None:
        if not cycle.pause.is_paused:
            seconds = self._seconds(cycle.caller, now) + now - cycle.since
            self._times[cycle.caller] = _RunningTime(seconds, now)
        cycle.since = now

    def _seconds(self, caller: str, now: float) -> float:
        return self._times[caller].seconds_at(now) if caller in self._times else 0.0
