"""Pauses between tries that double with every failure in a row."""

from typing import Final

_MAX_DOUBLINGS: Final = 30


def pause_after(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after so many failures in a row, at least one."""
    return min(first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), longest)


class Backoff:
    """Counts failures in a row. For one thread."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self._failures = 0

    def fail(self) -> float:
        """Count a failure; how many seconds to wait before the next try."""
        self._failures += 1
        return pause_after(self._failures, self._first, self._longest)

    def reset(self) -> None:
        """Begin with the first pause again."""
        self._failures = 0
