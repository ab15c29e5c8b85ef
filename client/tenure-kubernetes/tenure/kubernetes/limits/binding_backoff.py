"""Pods whose binding the API server refused, for example by a policy or a webhook.

Each is blocked for a while, as by kube-scheduler: no capacity is assigned to it and no pod is evicted for it,
and its owner sees why. Then it is tried again.
"""

import threading
from dataclasses import dataclass
from typing import Final

from tenure.integration.timing import pause_after

FIRST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 60.0
"""Durations of blocks; each further refusal doubles them."""


@dataclass(slots=True)
class _Block:
    reason: str
    refusals: int
    ends_at: float | None
    """In seconds since 1970. None: it has ended, and the pod is tried again."""


class BindingBackoff:
    """Blocks of pods, by uid. `refuse` may be called from any thread, everything else from one."""

    def __init__(self) -> None:
        self._new: dict[str, str] = {}
        """Reasons of refusals since the last `take_changes`."""
        self._adding = threading.Lock()
        self._blocks: dict[str, _Block] = {}

    @property
    def next_end_seconds(self) -> float | None:
        """When the next block ends, in seconds since 1970. None: there is none."""
        ends = (block.ends_at for block in self._blocks.values() if block.ends_at is not None)
        return min(ends, default=None)

    def refuse(self, pod: str, reason: str) -> None:
        """Block a pod from the next `take_changes` on."""
        with self._adding:
            self._new[pod] = reason

    def forget(self, pod: str) -> None:
        """Remove a pod that is bound or gone."""
        self._blocks.pop(pod, None)

    def take_changes(self, now_seconds: float) -> set[str]:
        """Begin and end blocks, and return their pods."""
        with self._adding:
            new, self._new = self._new, {}
        ended = {
            pod
            for pod, block in self._blocks.items()
            if block.ends_at is not None and block.ends_at <= now_seconds
        }
        for pod in ended:
            self._blocks[pod].ends_at = None
        for pod, reason in new.items():
            refusals = self._blocks[pod].refusals + 1 if pod in self._blocks else 1
            pause = pause_after(refusals, FIRST_SECONDS, LONGEST_SECONDS)
            self._blocks[pod] = _Block(reason, refusals, now_seconds + pause)
        return ended | new.keys()

    def reason(self, pod: str) -> str:
        """Why a pod is blocked; "": it is not."""
        block = self._blocks.get(pod)
        return block.reason if block is not None and block.ends_at is not None else ""
