"""Immune after long enough waits: what evictions cost a pod group in waiting time has a bound."""

from collections.abc import Hashable, Iterator, Mapping
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.duration import format_duration, parse_duration
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope, guarded_actions
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

    ARGUMENTS = {"maxWait": wait_limit, "actions": guarded_actions}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups
        self._actions = guarded_actions(arguments.get("actions", ",".join(EVICTING_ACTIONS)))
        self._limit = wait_limit(arguments.get("maxWait", DEFAULT_LIMIT))
        self._source = "argument maxWait" if "maxWait" in arguments else f"default of {NAME}"

    def guard(self, action: str, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, once it has waited long enough."""
        if action not in self._actions:
            return None
        group = self._groups[victim]
        if not self._is_immune(group):
            return GuardVerdict(NAME, Scope.NOTHING, self._source)
        waited, limit = format_duration(group.waited_after_evictions), format_duration(self._limit)
        detail = f"{group.name} has waited long enough after evictions ({waited}, with a limit of {limit})"
        return GuardVerdict(NAME, Scope.ALL, self._source, None, ReasonCode.WAIT_LIMIT, detail)

    def guard_kind(self, preemptor: int) -> Hashable:
        """Whoever asks, the answer is the same."""
        return "anybody"

    def protections(self, pod_group: int) -> Iterator[Protection]:
        """For as long as it runs."""
        group = self._groups[pod_group]
        if group.may_yield and self._is_immune(group):
            yield Protection(pod_group, NAME, self._actions, None, self._source)

    def _is_immune(self, group: PodGroup) -> bool:
        return group.waited_after_evictions >= self._limit
