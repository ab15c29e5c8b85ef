"""Guards: what they protect, and what they say of one victim."""

from enum import IntEnum
from typing import NamedTuple

from tenure.terms.reasons import ReasonCode


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
    code: ReasonCode = ReasonCode.PROTECTED
    detail: str = ""
    """Why it protects, for people."""
