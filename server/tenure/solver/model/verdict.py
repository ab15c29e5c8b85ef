"""Guards: what they protect, and what they say of one victim."""

from enum import IntEnum
from typing import Final, NamedTuple

from tenure.terms.reasons import ReasonCode

EVICTING_ACTIONS: Final = ("reclaim", "preempt", "consolidation", "requeue")
"""Actions that take room from pod groups that run as they should; guards keep them off."""


def guarded_actions(text: str) -> tuple[str, ...]:
    """The actions a guard has a say in, from `reclaim, preempt`; ValueError for one that evicts nobody."""
    named = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in named if name not in EVICTING_ACTIONS]
    if unknown or not named:
        wrong = unknown[0] if unknown else text
        raise ValueError(f"{wrong!r} is not an action that guards know; use {', '.join(EVICTING_ACTIONS)}")
    return tuple(action for action in EVICTING_ACTIONS if action in named)


class ProtectionScope(IntEnum):
    """What of a pod group is protected; numbers are those of the wire contract."""

    NOTHING = 0
    CORE = 1
    """Its minimum: what goes beyond it may be evicted."""
    ALL = 2


class GuardVerdict(NamedTuple):
    """What one guard says about one victim, whether it protects it or not."""

    guard: str
    scope: ProtectionScope
    source: str
    """Whose word it is: `queue NAME`, `default of PLUGIN`, ..."""
    until: int | None = None
    """When the protection ends or ended, in nanoseconds; None: time does not matter."""
    code: ReasonCode = ReasonCode.NON_PREEMPTIBLE
    detail: str = ""
    """Why it protects, for people."""
