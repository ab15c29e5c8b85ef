"""Cycles of callers with many calls pause for those of callers with few, for a limited time."""

import threading
import time

import pytest
from tenure.server.deadlines import CutShort, Deadline
from tenure.server.service.cycle_queue import CycleQueue
from tenure.server.service.running_cycles import PREFERENCE, RunningCycle, RunningCycles
from tenure.server.shard import CallEnded, Shard

NOISY, QUIET = Shard("noisy", ""), Shard("quiet", "")
CALLS = {"noisy": 16, "quiet": 1, "other": 5}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def begin(cycles: RunningCycles, clock: Clock, noisy_seconds: float) -> None:
    """A cycle of the noisy caller has run for some time when one of the quiet caller begins."""
    cycles.begin(NOISY, "noisy")
    clock.seconds += noisy_seconds
    cycles.begin(QUIET, "quiet")
    cycles.balance(CALLS.__getitem__)


def paused(cycles: RunningCycles) -> list[str]:
    return [shard.cluster_id for shard in (NOISY, QUIET) if shard in cycles and cycles[shard].pause.is_paused]


def test_a_cycle_of_a_caller_with_many_calls_pauses_until_the_other_ends() -> None:
    clock = Clock()
    cycles = RunningCycles(clock, lambda: None)
    begin(cycles, clock, 0.01)
    assert paused(cycles) == ["noisy"]
    cycles.end(QUIET)
    cycles.balance(CALLS.__getitem__)
    assert paused(cycles) == []


def test_a_caller_with_few_calls_is_preferred_for_a_limited_time() -> None:
    clock = Clock()
    cycles = RunningCycles(clock, lambda: None)
    begin(cycles, clock, 0.01)
    clock.seconds += 0.01 * PREFERENCE * 0.9
    cycles.balance(CALLS.__getitem__)
    assert paused(cycles) == ["noisy"]
    clock.seconds += 0.01 * PREFERENCE * 0.2
    cycles.balance(CALLS.__getitem__)
    assert paused(cycles) == []


def test_callers_with_similar_numbers_of_calls_share_the_time() -> None:
    clock = Clock()
    cycles = RunningCycles(clock, lambda: None)
    cycles.begin(NOISY, "noisy")
    clock.seconds += 0.01
    cycles.begin(QUIET, "other")
    cycles.balance(CALLS.__getitem__)
    assert paused(cycles) == []


def test_a_paused_cycle_ends_at_its_deadline() -> None:
    cycle = RunningCycle("noisy", 0.0, lambda: None)
    cycle.pause.is_paused = True
    deadline = Deadline(0.05, CutShort(), cycle.pause)
    with pytest.raises(CallEnded):
        deadline.check()
    assert deadline()


def test_a_cycle_continues_after_one_that_went_first() -> None:
    queue, order = CycleQueue(3, 16), []
    is_held, may_end = threading.Event(), threading.Event()

    def run_noisy() -> None:
        with queue.acquire(NOISY, 30, "noisy") as deadline:
            is_held.set()
            time.sleep(0.05)
            for _ in range(5):
                queued = threading.Thread(target=wait_in_queue, daemon=True)
                queued.start()
            may_end.wait(10)
            assert not deadline()
            order.append("noisy")

    def wait_in_queue() -> None:
        with queue.acquire(NOISY, 30, "noisy"):
            pass

    noisy = threading.Thread(target=run_noisy)
    noisy.start()
    is_held.wait(10)
    while queue.load()[1] < 5:
        time.sleep(0.01)
    with queue.acquire(QUIET, 30, "quiet"):
        may_end.set()
        time.sleep(0.02)
        order.append("quiet")
    noisy.join(10)
    assert order == ["quiet", "noisy"]
