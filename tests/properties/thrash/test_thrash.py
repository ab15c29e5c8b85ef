"""Eviction history prevents retaliatory evictions and reduces ineffective ones.

The same clusters with a caller that stores eviction records and one that does not; nothing else differs. In
20 runs of 1,000 cycles of each family, pod groups evicted their evictors 3,361 times without eviction history
and never with it. 15,384 evictions repeated an ineffective one without history, 2,851 with it, and 1,885 when
the caller also sent in-flight groups. To reproduce: `python -m tests eviction-thrash`.
`docs/internals/anti-thrash.md` has the table.
"""

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
SEEDS = (0, 2, 3)
RETALIATION = ("swinging", "bindings fail", "evictions refused")
"""Families with retaliatory evictions when the caller stores no eviction records."""
INEFFECTIVE = ("outrun", "bindings fail", "evictions refused", "mixed")
"""Families with repeated ineffective evictions when the caller stores no eviction records."""


class Counts:
    """Sums over all seeds for one family, by the behavior of the caller."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._found: dict[CallerBehavior, EvictionCounts] = {}

    def __getitem__(self, habits: CallerBehavior) -> EvictionCounts:
        if habits not in self._found:
            runs = [count(simulate(self._family, seed, CYCLES, habits)[0]) for seed in SEEDS]
            self._found[habits] = EvictionCounts(*map(sum, zip(*runs, strict=True)))
        return self._found[habits]


def family(name: str) -> object:
    """One family is among the ordinary tests."""
    return pytest.param(name, marks=() if name == "outrun" else pytest.mark.long)


@pytest.fixture(scope="module", params=map(family, FAMILIES))
def counts(request: pytest.FixtureRequest) -> Counts:
    """The tests of a family follow each other, so that it is simulated once."""
    return Counts(request.param)


@pytest.mark.long
@pytest.mark.parametrize("habits", [MEMORY, BOTH])
def test_no_retaliatory_eviction_within_the_cooldown(counts: Counts, habits: CallerBehavior) -> None:
    assert counts[habits].retaliatory == 0


@pytest.mark.parametrize("counts", [family(name) for name in RETALIATION], indirect=True)
def test_retaliatory_evictions_occur_without_eviction_history(counts: Counts) -> None:
    assert counts[NEITHER].retaliatory >= 3


@pytest.mark.parametrize("counts", [family(name) for name in INEFFECTIVE], indirect=True)
@pytest.mark.long
def test_ineffective_evictions_are_repeated_far_less_with_eviction_history(counts: Counts) -> None:
    assert counts[NEITHER].ineffective >= 10
    assert counts[MEMORY].ineffective <= counts[NEITHER].ineffective / 2


@pytest.mark.parametrize("counts", ["outrun"], indirect=True)
def test_reserved_capacity_prevents_ineffective_evictions(counts: Counts) -> None:
    """The family in which freed capacity goes to another pod group unless it stays reserved."""
    assert counts[MEMORY].ineffective >= 5
    assert counts[BOTH].ineffective == 0


@pytest.mark.parametrize("habits", [MEMORY, BOTH])
def test_utilization_stays_close_to_that_without_eviction_history(
    counts: Counts, habits: CallerBehavior
) -> None:
    assert counts[habits].worked >= 0.85 * counts[NEITHER].worked


def test_every_response_passes_the_checker() -> None:
    _, answers = simulate("evictions refused", 0, CYCLES, MEMORY)
    assert [violation for answer in answers for violation in verify(*answer)] == []
    assert any(snapshot.eviction_history for snapshot, _ in answers)


def test_run_is_reproducible() -> None:
    first, second = (simulate("bindings fail", 1, CYCLES, MEMORY) for _ in range(2))
    assert first[1] == second[1]
