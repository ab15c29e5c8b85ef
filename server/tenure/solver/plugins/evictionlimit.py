"""Immune after enough evictions, so that nobody is interrupted again and again without an end."""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.framework.immunity import Immunity
from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.guard import guarded_actions
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import PodGroup

NAME: Final = "evictionlimit"
DEFAULT_LIMIT: Final = 3


def eviction_limit(text: str) -> int:
    """A number of evictions; ValueError unless it is a whole number above zero."""
    limit = int(text) if text.isascii() and text.isdigit() else 0
    if limit < 1:
        raise ValueError(f"{text!r} is not a number of evictions; use a whole number above zero")
    return limit


class EvictionLimit:
    """A guard. Counted are cycles that took or moved pods of it, however many, for whoever."""

    ARGUMENTS: ClassVar[Parsers] = {"maxEvictions": eviction_limit, "actions": guarded_actions}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._limit = eviction_limit(arguments.get("maxEvictions", str(DEFAULT_LIMIT)))
        immunity = Immunity(session, arguments, NAME, "maxEvictions", ReasonCode.EVICTION_LIMIT, self._told)
        self.guard = immunity.guard
        self.guard_kind = immunity.guard_kind
        self.may_end = immunity.may_end
        self.protections = immunity.protections

    def _told(self, group: PodGroup) -> str:
        count, limit = group.eviction_count, self._limit
        if count < limit:
            return ""
        return f"{group.name} was evicted often enough ({count}, with a limit of {limit})"
