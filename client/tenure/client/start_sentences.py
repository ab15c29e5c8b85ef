"""A sentence about the place and start of a pod group that waits, for status fields of other systems.

It changes only when what it says changes noticeably: places and times are rounded, times the more the further
they are away (semantics R17.24). It names no one, so that every reader may see it.
"""

from datetime import UTC, datetime
from math import inf
from typing import Final

from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_ordinal
from tenure.v1.explain_pb2 import StartEstimate
from tenure.v1.snapshot_pb2 import CERTAINTY_BOUNDED

_MINUTE: Final = 60 * SECOND
"""In nanoseconds."""
_STEPS: Final = ((60, 5), (240, 15), (1_440, 60))
"""Minutes until a start below which it is rounded up to so many minutes."""
_LARGEST_STEP: Final = 1_440
"""The step of all later starts: a day."""
_EXACT: Final = 10
"""Places up to which they are not rounded."""


def start_sentence(estimate: StartEstimate, now: int) -> str:
    """Empty for a pod group that does not wait. `now` is in nanoseconds since the Unix epoch."""
    if not estimate.position:
        return ""
    place = f"{_place(estimate.position)} in its queue"
    if not estimate.HasField("likely_start"):
        return f"{place}; no start is known."
    first, likely = estimate.earliest_start.ToNanoseconds(), estimate.likely_start.ToNanoseconds()
    last = estimate.likely_start_by.ToNanoseconds() if estimate.HasField("likely_start_by") else likely
    if estimate.certainty == CERTAINTY_BOUNDED:
        return f"{place}; starts by {_moment(last, now)}, if nothing more important arrives."
    text = f"{place}; starts at about {_moment(likely, now)}"
    if _rounded(first, now) < _rounded(last, now):
        text += f", between {_moment(first, now)} and {_moment(last, now)}"
    latest = estimate.latest_start.ToNanoseconds() if estimate.HasField("latest_start") else last
    if _rounded(latest, now) > _rounded(last, now):
        text += f", by {_moment(latest, now)} at the latest"
    return f"{text}, if nothing more important arrives."


def valid_until(estimate: StartEstimate) -> float:
    """Until when the sentence holds, in nanoseconds since the Unix epoch: to the last start that it names."""
    starts = (estimate.latest_start, estimate.likely_start_by, estimate.likely_start)
    return max(each.ToNanoseconds() for each in starts) or inf


def _place(position: int) -> str:
    """In words; of a far one the first digit, rounded up."""
    if position <= _EXACT:
        return format_ordinal(position)
    step = 10 ** (len(str(position - 1)) - 1)
    return f"among the first {-(-position // step) * step:,}"


def _rounded(time: int, now: int) -> int:
    """Minutes since the Unix epoch, rounded up."""
    left = (time - now) // _MINUTE
    step = next((step for most, step in _STEPS if left < most), _LARGEST_STEP)
    return -(-time // (step * _MINUTE)) * step


def _moment(time: int, now: int) -> str:
    """The rounded time, to the minute."""
    return f"{datetime.fromtimestamp(_rounded(time, now) * 60, UTC):%Y-%m-%d %H:%M} UTC"
