"""Larger random clusters on which Tenure and the reference differ, by what explains the difference."""

from collections.abc import Mapping
from typing import Final

from tests.conformance.large.reference_behavior import Behavior

_SINGLE, _FULL = "random/large-204146", "random/large-495897"


def _ids(single: str, full: str) -> tuple[str, ...]:
    return (*(f"{_SINGLE}#{n}" for n in single.split()), *(f"{_FULL}#{n}" for n in full.split()))


EXPLAINED: Final[Mapping[tuple[Behavior, ...], tuple[str, ...]]] = {
    (Behavior.SECOND_SLOT,): _ids("871", "75"),
    (Behavior.COUNTED_TWICE,): _ids("", "303 376 403 501 736"),
    (Behavior.TERMINATING_REMAINS,): _ids("808 864", "57 82 129 368 386"),
    (Behavior.FREE_DEVICE,): _ids("", "397"),
    (Behavior.RETURNED,): _ids("68 396 429 544 572 612 678", "78 153 251"),
    (Behavior.COUNTED_TWICE, Behavior.TERMINATING_REMAINS, Behavior.RETURNED): _ids("481", ""),
}
"""Cases that agree once these behaviors of the reference are imitated."""
UNEXPLAINED: Final = _ids(
    "148 288 309 348 370 584 588 794 801 873",
    "5 17 42 107 119 164 168 252 382 400 414 448 478 516 587 596 601 611 673 721",
)
"""Cases whose cause is not known yet."""


def behaviors_of(case: str) -> tuple[Behavior, ...]:
    """What explains the difference of a case; empty if nothing is known to."""
    return next((behaviors for behaviors, cases in EXPLAINED.items() if case in cases), ())
