"""Pod groups do not evict each other in turn, and what came to nothing is not tried every cycle.

The same scenarios with a caller that remembers evictions and with one that does not; nothing else differs.
In 20 runs of 1,000 cycles of each family pod groups evicted their evictors 3,361 times without memory and
never with it, and 15,384 evictions repeated what had come to nothing without, 2,851 with it, and 1,885 when
the caller kept its groups in flight as well. To see that again:
`python -m tests eviction-thrash`; `docs/internals/anti-thrash.md` has the table.
"""

from functools import cache

import pytest

from tests.checker.checker import verify
from tests.properties.thrash.contention_patterns import FAMILIES
from tests.properties.thrash.simulation import (
    BOTH,
    MEMORY,
    NEITHER,
    CallerBehavior,
    EvictionCounts,
    count,
    simulate,
)

CYCLES = 150
SEEDS = range(3)
RETALIATION = ("swinging", "bindings fail", "evictions refused")
"""Families in which pod groups do evict each other in turn when nobody remembers."""
INEFFECTIVE = ("outrun", "bindings fail", "evictions refused", "mixed")
"""Families in which the same eviction is tried again and again when nobody remembers."""


@cache
def counts(family: str, habits: CallerBehavior) -> EvictionCounts:
    """The sums over all seeds."""
    found = [count(simulate(family, seed, CYCLES, habits)[0]) for seed in SEEDS]
    return EvictionCounts(*map(sum, zip(*found, strict=True)))


@pytest.mark.parametrize("habits", [MEMORY, BOTH])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_retaliatory_eviction_within_the_cooldown(family: str, habits: CallerBehavior) -> None:
    assert counts(family, habits).retaliatory == 0


@pytest.mark.parametrize("family", RETALIATION)
def test_retaliatory_evictions_occur_without_eviction_history(family: str) -> None:
    assert counts(family, NEITHER).retaliatory >= 10


@pytest.mark.parametrize("family", INEFFECTIVE)
def test_ineffective_evictions_are_repeated_far_less_with_eviction_history(family: str) -> None:
    without, remembered = counts(family, NEITHER), counts(family, MEMORY)
    assert without.ineffective >= 10
    assert remembered.ineffective <= without.ineffective / 2


def test_reserved_capacity_prevents_ineffective_evictions() -> None:
    """The family in which freed room goes to another than it was freed for, if nobody keeps it."""
    assert counts("outrun", MEMORY).ineffective >= 5
    assert counts("outrun", BOTH).ineffective == 0


@pytest.mark.parametrize("habits", [MEMORY, BOTH])
@pytest.mark.parametrize("family", FAMILIES)
def test_utilization_stays_close_to_that_without_eviction_history(
    family: str, habits: CallerBehavior
) -> None:
    assert counts(family, habits).worked >= 0.85 * counts(family, NEITHER).worked


def test_every_response_passes_the_checker() -> None:
    _, answers = simulate("evictions refused", 0, CYCLES, MEMORY)
    assert [violation for answer in answers for violation in verify(*answer)] == []
    assert any(snapshot.eviction_history for snapshot, _ in answers)


def test_run_is_reproducible() -> None:
    first, second = (simulate("bindings fail", 1, CYCLES, MEMORY) for _ in range(2))
    assert first[1] == second[1]
