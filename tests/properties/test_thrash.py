"""Pod groups do not evict each other in turn, and what came to nothing is not tried every cycle.

The same scenarios with a caller that remembers evictions and with one that does not; nothing else differs.
In 20 runs of 1,000 cycles of each family pod groups evicted their evictors 3,361 times without memory and
never with it, and 15,384 evictions repeated what had come to nothing without, 2,851 with it, and 1,885 when
the caller kept its groups in flight as well. To see that again:
`python -m tests eviction-thrash`; `docs/anti-thrash.md` has the table.
"""

from functools import cache

import pytest

from tests.properties.scenarios import FAMILIES
from tests.properties.simulation import BOTH, MEMORY, NEITHER, Count, Habits, count, simulate
from tests.verify.checker import verify

CYCLES = 150
SEEDS = range(3)
PING_PONG = ("swinging", "bindings fail", "evictions refused")
"""Families in which pod groups do evict each other in turn when nobody remembers."""
IN_VAIN = ("outrun", "bindings fail", "evictions refused", "mixed")
"""Families in which the same eviction is tried again and again when nobody remembers."""


@cache
def counts(family: str, habits: Habits) -> Count:
    """The sums over all seeds."""
    found = [count(simulate(family, seed, CYCLES, habits)[0]) for seed in SEEDS]
    return Count(*map(sum, zip(*found, strict=True)))


@pytest.mark.parametrize("habits", [MEMORY, BOTH])
@pytest.mark.parametrize("family", FAMILIES)
def test_nobody_evicts_its_evictor_within_the_cooldown(family: str, habits: Habits) -> None:
    assert counts(family, habits).in_turn == 0


@pytest.mark.parametrize("family", PING_PONG)
def test_without_memory_they_do(family: str) -> None:
    assert counts(family, NEITHER).in_turn >= 10


@pytest.mark.parametrize("family", IN_VAIN)
def test_what_came_to_nothing_is_repeated_far_less(family: str) -> None:
    without, remembered = counts(family, NEITHER), counts(family, MEMORY)
    assert without.in_vain >= 10
    assert remembered.in_vain <= without.in_vain / 2


def test_room_that_is_kept_is_not_freed_in_vain() -> None:
    """The family in which freed room goes to another than it was freed for, if nobody keeps it."""
    assert counts("outrun", MEMORY).in_vain >= 5
    assert counts("outrun", BOTH).in_vain == 0


@pytest.mark.parametrize("habits", [MEMORY, BOTH])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_cluster_is_not_kept_idle(family: str, habits: Habits) -> None:
    assert counts(family, habits).worked >= 0.85 * counts(family, NEITHER).worked


def test_every_answer_on_the_way_is_sound() -> None:
    _, answers = simulate("evictions refused", 0, CYCLES, MEMORY)
    assert [violation for answer in answers for violation in verify(*answer)] == []
    assert any(snapshot.eviction_memory for snapshot, _ in answers)


def test_a_run_can_be_repeated() -> None:
    first, second = (simulate("bindings fail", 1, CYCLES, MEMORY) for _ in range(2))
    assert first[1] == second[1]
