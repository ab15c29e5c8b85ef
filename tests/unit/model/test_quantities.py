"""Quantities do what the same steps on plain vectors do, with and without resources beyond the fixed ones."""

import random
from typing import Final

import pytest
from tenure.solver.model.quantities import Quantities
from tenure.solver.model.resources import Vector

LENGTHS: Final = (4, 5, 7)
MOST: Final = 1 << 60


def vector(draw: random.Random, length: int, least: int = -3) -> Vector:
    return tuple(draw.randint(least, 5) for _ in range(length))


def pairs(length: int) -> list[tuple[Vector, Vector]]:
    draw = random.Random(length)
    return [(vector(draw, length), vector(draw, length, least=0)) for _ in range(300)]


@pytest.mark.parametrize("length", LENGTHS)
def test_every_slot_is_read_and_written_by_its_number(length: int) -> None:
    found = Quantities((0,) * length)
    for slot in range(length):
        found[slot] = slot + 1
    assert [found[slot] for slot in range(length)] == list(range(1, length + 1))
    assert found.vector() == tuple(range(1, length + 1))


@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_added_and_subtracted_is_that_of_each_slot(length: int) -> None:
    for have, other in pairs(length):
        more, less = Quantities(have), Quantities(have)
        more.add(Quantities(other))
        less.subtract(Quantities(other))
        assert more.vector() == tuple(a + b for a, b in zip(have, other, strict=True))
        assert less.vector() == tuple(a - b for a, b in zip(have, other, strict=True))


@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_wanted_is_covered_when_each_slot_has_enough(length: int) -> None:
    for (have, wanted), (more, _) in zip(pairs(length), reversed(pairs(length)), strict=True):
        both = [a + b for a, b in zip(have, more, strict=True)]
        free, coming, asked = Quantities(have), Quantities(more), Quantities(wanted)
        assert free.cover(asked) == all(a >= b for a, b in zip(have, wanted, strict=True))
        assert free.cover_with(coming, asked) == all(a >= b for a, b in zip(both, wanted, strict=True))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_scarcest_resource_says_how_often_it_fits(length: int) -> None:
    for have, wanted in pairs(length):
        counts = [a // b for a, b in zip(have, wanted, strict=True) if b]
        assert Quantities(have).times(Quantities(wanted), MOST) == min(counts, default=MOST)


def test_a_copy_is_changed_apart() -> None:
    first = Quantities((1, 2, 3, 4, 5))
    second = first.copy()
    second.add(Quantities((1,) * 5))
    assert (first.vector(), second.vector()) == ((1, 2, 3, 4, 5), (2, 3, 4, 5, 6))
