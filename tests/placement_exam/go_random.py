"""Random numbers as the published exam drew them: the lagged Fibonacci generator of Go's `math/rand`.

The order of the pods follows from it. Go seeds the generator with a table of 607 numbers, which are the state
of the same recurrence after 7.8e12 steps. It is computed here by squaring a polynomial, not copied.
"""

from functools import cache
from typing import Any, Final

LENGTH: Final = 607
TAP: Final = 273
STEPS: Final = 7_800_000_000_000
"""Steps after which the state is the table."""
WORD: Final = (1 << 64) - 1
LARGEST_INT32: Final = (1 << 31) - 1
SLOT_BYTES: Final = 20
"""Bytes of a coefficient in a product of polynomials: more than twice 64 bits and ten more for the sum."""


class GoRandom:
    """The global generator of Go after `rand.Seed`."""

    def __init__(self, seed: int) -> None:
        """`seed`: from 1 to 2**31 - 2."""
        self._state = [number ^ own for number, own in zip(_table(), _fill(seed, 20), strict=True)]
        self._tap, self._feed = 0, LENGTH - TAP

    def uint64(self) -> int:
        """Advance once."""
        self._tap, self._feed = (self._tap - 1) % LENGTH, (self._feed - 1) % LENGTH
        number = self._state[self._feed] = (self._state[self._feed] + self._state[self._tap]) & WORD
        return number

    def int63(self) -> int:
        """`rand.Int63`, which is also `rand.Int`."""
        return self.uint64() & (WORD >> 1)

    def below(self, limit: int) -> int:
        """`rand.Intn`, for limits of 31 bits."""
        if limit & (limit - 1) == 0:
            return self.int63() >> 32 & (limit - 1)
        largest = LARGEST_INT32 - (1 << 31) % limit
        while (number := self.int63() >> 32) > largest:
            pass
        return number % limit

    def shuffle(self, items: list[Any]) -> None:
        """`rand.Shuffle`, which draws by a product instead of a remainder."""
        for last in range(len(items) - 1, 0, -1):
            other = self._scaled(last + 1)
            items[last], items[other] = items[other], items[last]

    def permutation(self, count: int) -> list[int]:
        """`rand.Perm`."""
        numbers = [0] * count
        for i in range(count):
            j = self.below(i + 1)
            numbers[i] = numbers[j]
            numbers[j] = i
        return numbers

    def _scaled(self, limit: int) -> int:
        product = (self.int63() >> 31) * limit
        threshold = (1 << 32) % limit
        while product & 0xFFFFFFFF < threshold:
            product = (self.int63() >> 31) * limit
        return product >> 32


def _fill(seed: int, shift: int) -> list[int]:
    """State from a linear congruential generator, of which three numbers make one."""
    number = seed

    def step() -> int:
        nonlocal number
        number = 48_271 * number % LARGEST_INT32
        return number

    for _ in range(20):
        step()
    return [(step() << 2 * shift ^ step() << shift ^ step()) & WORD for _ in range(LENGTH)]


@cache
def _table() -> list[int]:
    """The state that was filled with the seed 1, after all steps.

    The numbers y of the recurrence y[n] = y[n - 607] + y[n - 273] lie in the state in descending order.
    """
    first = _fill(1, 10)
    numbers = [first[(LENGTH - TAP - 1 - i) % LENGTH] for i in range(LENGTH)]
    for n in range(LENGTH, 2 * LENGTH):
        numbers.append((numbers[n - LENGTH] + numbers[n - TAP]) & WORD)
    factors = _power(STEPS)
    table = [0] * LENGTH
    for i in range(LENGTH):
        reached = sum([factor * number for factor, number in zip(factors, numbers[i:], strict=False)]) & WORD
        table[(LENGTH - TAP - 1 - (STEPS + i)) % LENGTH] = reached
    return table


def _power(exponent: int) -> list[int]:
    """Coefficients of x**exponent modulo x**607 - x**334 - 1, in words."""
    power = [1] + [0] * (LENGTH - 1)
    for bit in bin(exponent)[2:]:
        power = _reduced(_product(power))
        if bit == "1":
            power = _reduced([0, *power])
    return power


def _product(factors: list[int]) -> list[int]:
    """The square of a polynomial, by one product of large integers."""
    packed = int.from_bytes(b"".join([each.to_bytes(SLOT_BYTES, "little") for each in factors]), "little")
    square = (packed * packed).to_bytes(2 * LENGTH * SLOT_BYTES, "little")
    slots = range(0, len(square), SLOT_BYTES)
    return [int.from_bytes(square[at : at + SLOT_BYTES], "little") & WORD for at in slots]


def _reduced(factors: list[int]) -> list[int]:
    for n in range(len(factors) - 1, LENGTH - 1, -1):
        factors[n - LENGTH] += factors[n]
        factors[n - TAP] += factors[n]
    return [factor & WORD for factor in factors[:LENGTH]]
