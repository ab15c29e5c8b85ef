"""The last answer about a state, for callers that ask again before anything has changed.

Deciding reads nothing but the question, so the same question has the same answer. And an answer that finds
nothing to do says until when that is so: asked at a later time before its `next_wake_time` it is the same but
for that time, if nothing else in it depends on the time.
"""

from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1.decide_pb2 import WARNING_CODE_CLOCK_SKEW, DecideResponse
from tenure.v1.decision_pb2 import IN_FLIGHT_GROUP_STATE_IN_FLIGHT
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_BYTES = 2**20
"""Larger answers are not kept: they have much to do, and the state changes when it is done."""


class _CachedResponse(NamedTuple):
    actions: tuple[str, ...]
    response: DecideResponse
    is_steady: bool


class ResponseCache:
    """Of one state; made anew with each. Used by one cycle of the state's shard at a time."""

    def __init__(self) -> None:
        self._cached: _CachedResponse | None = None

    def find(self, actions: tuple[str, ...], now: Timestamp) -> DecideResponse | None:
        """The answer that these actions would give at that time, if it is known; the caller's to keep."""
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
        """Remember an answer about the state, which is this snapshot, unless a deadline cut it short."""
        if response.stopped_early or response.ByteSize() > MAX_BYTES:
            return
        self._cached = _CachedResponse(actions, response, _is_steady(response, snapshot))


def _is_steady(response: DecideResponse, snapshot: ClusterSnapshot) -> bool:
    """Whether nothing in an answer depends on its time until its next wake time, but for that time.

    Ids and patches do, and so do what is told of runtimes (nominations), of delays (outcomes with an end) and
    of starts yet to come; memories of evictions are forgotten in time, and groups in flight that are not kept
    lapse.
    """
    is_dropped = any(
        status.state != IN_FLIGHT_GROUP_STATE_IN_FLIGHT for status in response.in_flight_group_statuses
    )
    is_skewed = any(warning.code == WARNING_CODE_CLOCK_SKEW for warning in response.warnings)
    is_delayed = any(outcome.reason.HasField("until") for outcome in response.outcomes)
    is_idle = not (response.groups or response.nominations or snapshot.eviction_history)
    return is_idle and not (is_skewed or is_delayed or is_dropped)


def _is_before_wake(now: Timestamp, response: DecideResponse) -> bool:
    """Whether a time is from that of an answer on, and before time alone may change it."""
    if now.ToNanoseconds() < response.header.now.ToNanoseconds():
        return False
    wakes = response.HasField("next_wake_time")
    return not wakes or now.ToNanoseconds() < response.next_wake_time.ToNanoseconds()
