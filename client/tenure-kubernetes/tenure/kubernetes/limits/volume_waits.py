"""Pods whose volumes are being bound, and nodes on which that failed.

A node on which it failed is avoided for a while, longer after each failure, so that another one is chosen.
"""

import threading
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.integration.timing import pause_after

LIMIT_SECONDS: Final = 240.0
"""Time for the volumes of a pod; a decision group expires after 300 seconds by default."""
FIRST_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 600.0
"""Durations for which a node is avoided; each further failure doubles them."""


class VolumeWait(NamedTuple):
    """Why a pod is not bound yet."""

    node: str
    reason: str
    since_seconds: float
    """In seconds since 1970."""


@dataclass(slots=True)
class _Avoided:
    """A node of one pod."""

    failures: int = 0
    ends_at: float | None = None
    """In seconds since 1970. None: it may be chosen again."""


@dataclass(slots=True)
class _Pod:
    avoided: dict[str, _Avoided] = field(default_factory=dict)


class VolumeWaits:
    """By uid of a pod. `avoid` and `wait` may be called from any thread, everything else from one."""

    def __init__(self) -> None:
        self._new: list[tuple[str, str]] = []
        self._adding = threading.Lock()
        self._pods: dict[str, _Pod] = {}
        self.waits: dict[str, VolumeWait] = {}
        """Pods that wait for their volumes after they were assigned to a node."""

    @property
    def next_change_seconds(self) -> float | None:
        """When a node is no longer avoided, or a wait is too long, in seconds since 1970. None: never."""
        ends = [
            one.ends_at
            for pod in self._pods.values()
            for one in pod.avoided.values()
            if one.ends_at is not None
        ]
        ends += [wait.since_seconds + LIMIT_SECONDS for wait in list(self.waits.values())]
        return min(ends, default=None)

    def avoid(self, pod: str, node: str) -> None:
        """Avoid a node for a pod from the next `take_changes` on."""
        with self._adding:
            self._new.append((pod, node))
            self.waits.pop(pod, None)

    def wait(self, pod: str, node: str, reason: str, now_seconds: float) -> bool:
        """Begin or continue a wait. Returns whether it is too long."""
        with self._adding:
            before = self.waits.get(pod)
            since = before.since_seconds if before is not None and before.node == node else now_seconds
            self.waits[pod] = VolumeWait(node, reason, since)
            return now_seconds >= since + LIMIT_SECONDS

    def keep_waits(self, pods: Container[str]) -> None:
        """End the waits of all other pods: their volumes are bound, or they are no longer assigned."""
        with self._adding:
            self.waits = {uid: wait for uid, wait in self.waits.items() if uid in pods}

    def forget(self, pod: str) -> None:
        """Remove a pod that is bound or gone."""
        self._pods.pop(pod, None)
        if pod in self.waits:
            with self._adding:
                self.waits.pop(pod, None)

    def avoided(self, pod: str) -> tuple[str, ...]:
        """Names of the nodes that a pod avoids, in order."""
        known = self._pods.get(pod)
        nodes = known.avoided.items() if known is not None else ()
        return tuple(sorted(name for name, one in nodes if one.ends_at is not None))

    def take_changes(self, now_seconds: float) -> set[str]:
        """Begin and end to avoid nodes, and return the pods."""
        with self._adding:
            new, self._new = self._new, []
        changed: set[str] = set()
        for uid, pod in self._pods.items():
            for one in pod.avoided.values():
                if one.ends_at is not None and one.ends_at <= now_seconds:
                    one.ends_at = None
                    changed.add(uid)
        for uid, node in new:
            one = self._pods.setdefault(uid, _Pod()).avoided.setdefault(node, _Avoided())
            one.failures += 1
            one.ends_at = now_seconds + pause_after(one.failures, FIRST_SECONDS, LONGEST_SECONDS)
            changed.add(uid)
        return changed
