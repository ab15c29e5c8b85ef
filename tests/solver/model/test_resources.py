"""Mutable vectors give the same results as plain vectors, with and without additional resources."""

import random
from typing import Final

import pytest
from tenure.solver.model.resources import MutableVector, Vector

LENGTHS: Final = (4, 5, 7)
MOST: Final = 1 << 60


def vector(draw: random.Random, length: int, least: int = -3) -> Vector:
    return tuple(draw.randint(least, 5) for _ in range(length))


def pairs(length: int) -> list[tuple[Vector, Vector]]:
    draw = random.Random(length)
    return [(vector(draw, length), vector(draw, length, least=0)) for _ in range(300)]


@pytest.mark.parametrize("length", LENGTHS)
def test_every_component_is_read_and_written_by_index(length: int) -> None:
    found = MutableVector((0,) * length)
    for slot in range(length):
        found[slot] = slot + 1
    assert [found[slot] for slot in range(length)] == list(range(1, length + 1))
    assert found.vector() == tuple(range(1, length + 1))


@pytest.mark.parametrize("length", LENGTHS)
def test_vectors_are_added_and_subtracted_by_component(length: int) -> None:
    for have, other in pairs(length):
        more, less = MutableVector(have), MutableVector(have)
        more.add(MutableVector(other))
        less.subtract(MutableVector(other))
        assert more.vector() == tuple(a + b for a, b in zip(have, other, strict=True))
        assert less.vector() == tuple(a - b for a, b in zip(have, other, strict=True))


@pytest.mark.parametrize("length", LENGTHS)
def test_request_is_covered_when_every_component_suffices(length: int) -> None:
    for (have, wanted), (more, _) in zip(pairs(length), reversed(pairs(length)), strict=True):
        both = [a + b for a, b in zip(have, more, strict=True)]
        free, coming, asked = MutableVector(have), MutableVector(more), MutableVector(wanted)
        assert free.cover(asked) == all(a >= b for a, b in zip(have, wanted, strict=True))
        assert free.cover_with(coming, asked) == all(a >= b for a, b in zip(both, wanted, strict=True))


@pytest.mark.parametrize("length", LENGTHS)
def test_scarcest_resource_determines_the_number_of_fits(length: int) -> None:
    for have, wanted in pairs(length):
        counts = [a // b for a, b in zip(have, wanted, strict=True) if b]
        assert MutableVector(have).times(MutableVector(wanted), MOST) == min(counts, default=MOST)


def test_copy_is_independent() -> None:
    first = MutableVector((1, 2, 3, 4, 5))
    second = first.copy()
    second.add(MutableVector((1,) * 5))
    assert (first.vector(), second.vector()) == ((1, 2, 3, 4, 5), (2, 3, 4, 5, 6))
