"""The rejection that every "no" is made of."""

from typing import Final, NamedTuple

from tenure.terms.reasons import ReasonCode

PAIR_REASONS: Final = frozenset({ReasonCode.EVICTION_COOLDOWN, ReasonCode.EVICTION_BACKOFF})
"""Findings about one (victim, preemptor) pair, which say nothing about other preemptors."""


class Rejection(NamedTuple):
    """A "no" as a value. At `until` (nanoseconds), time alone may turn it into a "yes"."""

    code: ReasonCode
    detail: str
    until: int | None = None
    source: str = ""
