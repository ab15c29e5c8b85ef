"""Protection scopes of guards, and their results for victims."""

from enum import IntEnum
from typing import NamedTuple

from tenure.terms.reasons import ReasonCode


class ProtectionScope(IntEnum):
    """Part of a pod group that is protected; numbers as on the wire."""

    NOTHING = 0
    CORE = 1
    """Its minimum: the surplus may be evicted."""
    ALL = 2


class GuardVerdict(NamedTuple):
    """Result of one guard for one victim, whether protected or not."""

    guard: str
    scope: ProtectionScope
    source: str
    """Origin of the value: `queue NAME`, `default of PLUGIN`, ..."""
    until: int | None = None
    """When the protection ends or ended, in nanoseconds; None: time does not matter."""
    code: ReasonCode = ReasonCode.PROTECTED
    detail: str = ""
    """Why it protects, for people."""
