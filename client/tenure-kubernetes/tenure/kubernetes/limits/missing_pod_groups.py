"""Pods on nodes that name an unknown pod group.

It may have been deleted while no adapter ran, or be one that the API server does not show yet. So each such
pod has no row for a while: it is out of reach, and no queue counts it. Then it has one, so that what other
queues lent it does not stay with it for good.
"""

from typing import Final

SECONDS: Final = 300.0
"""How long a pod is out of reach. A starting API server may not serve all kinds for a few minutes."""


class MissingPodGroups:
    """When pods, by uid, were first seen without a known pod group. For one thread."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: dict[str, float] = {}
        """In seconds since 1970."""
        self._waiting: set[str] = set()

    @property
    def next_end_seconds(self) -> float | None:
        """When the next pod comes into reach, in seconds since 1970; None: none is out of reach."""
        return min(map(self._ends.__getitem__, self._waiting), default=None)

    def begin(self, now_seconds: float) -> set[str]:
        """Set the time. Returns the uids of the pods that come into reach since the last call."""
        self._now = now_seconds
        ended = {uid for uid in self._waiting if self._ends[uid] <= now_seconds}
        self._waiting -= ended
        return ended

    def is_out_of_reach(self, pod: str) -> bool:
        """Whether a pod without a known pod group is out of reach. Its time begins with the first call."""
        end = self._ends.get(pod)
        if end is None:
            end = self._ends[pod] = self._now + SECONDS
            self._waiting.add(pod)
        return self._now < end

    def forget(self, pod: str) -> None:
        """A pod is gone, or its pod group is known."""
        self._ends.pop(pod, None)
        self._waiting.discard(pod)
