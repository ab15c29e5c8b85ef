"""Immune after long enough waits: what evictions cost a pod group in waiting time has a bound.

Immunity: from a limit on nobody takes any of a pod group. What guards of this kind have in common.

Immune after enough evictions, so that nobody is interrupted again and again without an end.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.registry import action_names
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.reasons import ReasonCode


class ThresholdGuard:
    """Answers for a guard with an argument for its limit and one, `actions`, for where it has a say."""

    def __init__(
        self,
        session: Session,
        arguments: Mapping[str, str],
        name: str,
        limit: str,
        code: ReasonCode,
        describe: Callable[[PodGroup], str],
    ) -> None:
        """`limit` names the argument; `told` says how a pod group has reached it, empty if it has not."""
        self._groups = session.cluster.pod_groups
        self._actions = session.registry.parse_guarded_actions(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._name = name
        self._source = f"argument {limit}" if limit in arguments else f"default of {name}"
        self._code = code
        self._describe = describe

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, once it has reached the limit."""
        if action not in self._actions:
            return None
        detail = self._describe(self._groups[victim])
        if not detail:
            return GuardVerdict(self._name, ProtectionScope.NOTHING, self._source)
        return GuardVerdict(self._name, ProtectionScope.ALL, self._source, None, self._code, detail)

    def guard_cache_key(self, preemptor: int) -> Hashable:
        """Whoever asks, the answer is the same."""
        return "anybody"

    def may_expire(self, victims: Sequence[int]) -> bool:
        """What protects for as long as a pod group runs says no time."""
        return False

    def protections(self, pod_groups: Sequence[int]) -> Iterator[Protection]:
        """For as long as they run."""
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.is_evictable and self._describe(group):
                yield Protection(pod_group, self._name, self._action_names, None, self._source)


EVICTION_LIMIT: Final = "evictionlimit"
DEFAULT_EVICTION_LIMIT: Final = 3


def eviction_limit(text: str) -> int:
    """A number of evictions; ValueError unless it is a whole number above zero."""
    limit = int(text) if text.isascii() and text.isdigit() else 0
    if limit < 1:
        raise ValueError(f"{text!r} is not a number of evictions; use a whole number above zero")
    return limit


class EvictionLimit:
    """A guard. Counted are cycles that took or moved pods of it, however many, for whoever."""

    ARGUMENTS: ClassVar[Parsers] = {"maxEvictions": eviction_limit, "actions": action_names}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._limit = eviction_limit(arguments.get("maxEvictions", str(DEFAULT_EVICTION_LIMIT)))
        immunity = ThresholdGuard(
            session, arguments, EVICTION_LIMIT, "maxEvictions", ReasonCode.EVICTION_LIMIT, self._describe
        )
        self.guard = immunity.guard
        self.guard_cache_key = immunity.guard_cache_key
        self.may_expire = immunity.may_expire
        self.protections = immunity.protections

    def _describe(self, group: PodGroup) -> str:
        count, limit = group.eviction_count, self._limit
        if count < limit:
            return ""
        return f"{group.name} reached its eviction limit ({count} of {limit})"


WAIT_LIMIT: Final = "waitlimit"
DEFAULT_WAIT_LIMIT: Final = "24h"


def wait_limit(text: str) -> int:
    """Nanoseconds of a duration above zero; ValueError otherwise."""
    limit = parse_duration(text)
    if limit == 0:
        raise ValueError(f"{text!r} would make everybody immune at once; use a duration above zero")
    return limit


class WaitLimit:
    """A guard. All waits between an eviction of the whole pod group and its next start count together."""

    ARGUMENTS: ClassVar[Parsers] = {"maxWait": wait_limit, "actions": action_names}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._limit = wait_limit(arguments.get("maxWait", DEFAULT_WAIT_LIMIT))
        immunity = ThresholdGuard(
            session, arguments, WAIT_LIMIT, "maxWait", ReasonCode.WAIT_LIMIT, self._describe
        )
        self.guard = immunity.guard
        self.guard_cache_key = immunity.guard_cache_key
        self.may_expire = immunity.may_expire
        self.protections = immunity.protections

    def _describe(self, group: PodGroup) -> str:
        if group.total_eviction_wait < self._limit:
            return ""
        waited, limit = format_duration(group.total_eviction_wait), format_duration(self._limit)
        return f"{group.name} reached its wait limit ({waited} of {limit})"
