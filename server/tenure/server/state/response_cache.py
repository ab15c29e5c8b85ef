"""Cache of the last response about a state, for repeated calls without changes.

Decisions depend only on the request, so identical requests have the same response. A response without
decisions also holds until its `next_wake_time`: at an earlier time it differs only in that time, if nothing
else in it depends on the time.
"""

from typing import NamedTuple

from tenure.codec.encoded_response import CycleSummary, EncodedResponse
from tenure.v1.decide_pb2 import WARNING_CODE_CLOCK_SKEW
from tenure.v1.decision_pb2 import IN_FLIGHT_GROUP_STATE_IN_FLIGHT
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.carried import has_aging_rows

MAX_BYTES = 2**20
"""Maximum size of a cached response: larger ones have many decisions, which change the state when applied."""


class _CachedResponse(NamedTuple):
    actions: tuple[str, ...]
    response: EncodedResponse
    is_steady: bool


class ResponseCache:
    """Cache of one state version. Used by one cycle of the shard at a time."""

    def __init__(self) -> None:
        self._cached: _CachedResponse | None = None

    def find(self, actions: tuple[str, ...], now: int) -> EncodedResponse | None:
        """Cached response for these actions at that time in nanoseconds, or None."""
        cached = self._cached
        if cached is None or cached.actions != actions:
            return None
        known = cached.response.summary
        if now == known.now:
            return cached.response
        if cached.is_steady and _is_before_wake(now, known):
            return cached.response.at(now)
        return None

    def put(self, actions: tuple[str, ...], response: EncodedResponse, snapshot: ClusterSnapshot) -> None:
        """Cache a response about the state, which is this snapshot, unless it was stopped early."""
        if response.summary.stopped_early or len(response.content) > MAX_BYTES:
            return
        self._cached = _CachedResponse(actions, response, _is_steady(response.summary, snapshot))


def _is_steady(summary: CycleSummary, snapshot: ClusterSnapshot) -> bool:
    """Whether nothing else in a response depends on its time until its next wake time.

    IDs and patches do; so do runtimes (nominations), delays (outcomes with an end) and future start times.
    Eviction records are dropped in time, cancelled in-flight groups expire, and eviction rates fill up.
    """
    is_dropped = not summary.in_flight_states <= {IN_FLIGHT_GROUP_STATE_IN_FLIGHT}
    is_skewed = any(warning.code == WARNING_CODE_CLOCK_SKEW for warning in summary.warnings)
    is_idle = not (summary.groups or summary.nominations or has_aging_rows(snapshot))
    is_filling = any(rate.full_time is not None for rate in summary.eviction_rates)
    return is_idle and not (is_filling or is_skewed or summary.has_outcome_until or is_dropped)


def _is_before_wake(now: int, summary: CycleSummary) -> bool:
    """Whether a time is between that of a response and its next wake time."""
    return now >= summary.now and (summary.next_wake_time is None or now < summary.next_wake_time)
