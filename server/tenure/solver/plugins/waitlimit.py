"""Immune after long enough waits: what evictions cost a pod group in waiting time has a bound."""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.framework.immunity import Immunity
from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.duration import format_duration, parse_duration
from tenure.solver.model.guard import guarded_actions
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import PodGroup

NAME: Final = "waitlimit"
DEFAULT_LIMIT: Final = "24h"


def wait_limit(text: str) -> int:
    """Nanoseconds of a duration above zero; ValueError otherwise."""
    limit = parse_duration(text)
    if limit == 0:
        raise ValueError(f"{text!r} would make everybody immune at once; use a duration above zero")
    return limit


class WaitLimit:
    """A guard. All waits between an eviction of the whole pod group and its next start count together."""

    ARGUMENTS: ClassVar[Parsers] = {"maxWait": wait_limit, "actions": guarded_actions}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._limit = wait_limit(arguments.get("maxWait", DEFAULT_LIMIT))
        immunity = Immunity(session, arguments, NAME, "maxWait", ReasonCode.WAIT_LIMIT, self._told)
        self.guard = immunity.guard
        self.guard_kind = immunity.guard_kind
        self.may_end = immunity.may_end
        self.protections = immunity.protections

    def _told(self, group: PodGroup) -> str:
        if group.waited_after_evictions < self._limit:
            return ""
        waited, limit = format_duration(group.waited_after_evictions), format_duration(self._limit)
        return f"{group.name} has waited long enough after evictions ({waited}, with a limit of {limit})"
