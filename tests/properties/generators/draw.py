"""Sources of choices for random clusters: hypothesis, which can shrink examples, or a seed, which is fast."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    """Source of choices. The first of several options is the simplest."""

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both inclusive."""

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""

    def chance(self, percent: int) -> bool:
        """True with this probability, in percent."""


class SeededDraw:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def choice(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent


class ShrinkingDraw:
    """Choices from hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def choice(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self._data.draw(st.integers(0, 99)) >= 100 - percent
