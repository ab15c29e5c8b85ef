"""Cache of the last response about a state, for repeated calls without changes.

Decisions depend only on the request, so identical requests have the same response. A response without
decisions also holds until its `next_wake_time`: at an earlier time it differs only in that time, if nothing
else in it depends on the time.
"""

from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1.decide_pb2 import WARNING_CODE_CLOCK_SKEW, DecideResponse
from tenure.v1.decision_pb2 import IN_FLIGHT_GROUP_STATE_IN_FLIGHT
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_BYTES = 2**20
"""Maximum size of a cached response: larger ones have many decisions, which change the state when applied."""


class _CachedResponse(NamedTuple):
    actions: tuple[str, ...]
    response: DecideResponse
    is_steady: bool


class ResponseCache:
    """Cache of one state version. Used by one cycle of the shard at a time."""

    def __init__(self) -> None:
        self._cached: _CachedResponse | None = None

    def find(self, actions: tuple[str, ...], now: Timestamp) -> DecideResponse | None:
        """Cached response for these actions at that time, or None. The caller owns the copy."""
        kept = self._cached
        if kept is None or kept.actions != actions:
            return None
        known = kept.response
        if now != known.header.now and not (kept.is_steady and _is_before_wake(now, known)):
            return None
        answer = DecideResponse()
        answer.CopyFrom(known)
        answer.header.now.CopyFrom(now)
        return answer

    def put(self, actions: tuple[str, ...], response: DecideResponse, snapshot: ClusterSnapshot) -> None:
        """Cache a response about the state, which is this snapshot, unless it was stopped early."""
        if response.stopped_early or response.ByteSize() > MAX_BYTES:
            return
        self._cached = _CachedResponse(actions, response, _is_steady(response, snapshot))


def _is_steady(response: DecideResponse, snapshot: ClusterSnapshot) -> bool:
    """Whether nothing else in a response depends on its time until its next wake time.

    IDs and patches do; so do runtimes (nominations), delays (outcomes with an end) and future start times.
    Eviction records are dropped in time, and cancelled in-flight groups expire.
    """
    is_dropped = any(
        status.state != IN_FLIGHT_GROUP_STATE_IN_FLIGHT for status in response.in_flight_group_statuses
    )
    is_skewed = any(warning.code == WARNING_CODE_CLOCK_SKEW for warning in response.warnings)
    is_delayed = any(outcome.reason.HasField("until") for outcome in response.outcomes)
    is_idle = not (response.groups or response.nominations or snapshot.eviction_history)
    return is_idle and not (is_skewed or is_delayed or is_dropped)


def _is_before_wake(now: Timestamp, response: DecideResponse) -> bool:
    """Whether a time is between that of a response and its next wake time."""
    if now.ToNanoseconds() < response.header.now.ToNanoseconds():
        return False
    wakes = response.HasField("next_wake_time")
    return not wakes or now.ToNanoseconds() < response.next_wake_time.ToNanoseconds()
