"""The rejection that every "no" is made of."""

from typing import NamedTuple

from tenure.terms.reasons import ReasonCode


class Rejection(NamedTuple):
    """A "no" as a value. At `until` (nanoseconds), time alone may turn it into a "yes"."""

    code: ReasonCode
    detail: str
    until: int | None = None
    source: str = ""
