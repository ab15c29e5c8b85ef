"""The rejection that every "no" is made of."""

from typing import NamedTuple

from tenure.terms.reasons import ReasonCode, dominance


class Rejection(NamedTuple):
    """A "no" as a value. At `until` (nanoseconds), time alone may turn it into a "yes"."""

    code: ReasonCode
    detail: str
    until: int | None = None
    source: str = ""

    def ends_by(self, time: int | None) -> bool:
        """Whether it ends by a time."""
        return time is not None and self.until is not None and self.until <= time

    def dominates(self, earlier: "Rejection") -> bool:
        """Whether it is the reason instead of an earlier one: of equal codes, the one that ends first."""
        if self.code is not earlier.code:
            return dominance(self.code) <= dominance(earlier.code)
        return self.until is None or earlier.until is None or self.until < earlier.until
