"""Immune after enough evictions, so that nobody is interrupted again and again without an end."""

from collections.abc import Hashable, Iterator, Mapping
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope, guarded_actions
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

    ARGUMENTS = {"maxEvictions": eviction_limit, "actions": guarded_actions}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups
        self._actions = guarded_actions(arguments.get("actions", ",".join(EVICTING_ACTIONS)))
        self._limit = eviction_limit(arguments.get("maxEvictions", str(DEFAULT_LIMIT)))
        self._source = "argument maxEvictions" if "maxEvictions" in arguments else f"default of {NAME}"

    def guard(self, action: str, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, once it was evicted often enough."""
        if action not in self._actions:
            return None
        group = self._groups[victim]
        if not self._is_immune(group):
            return GuardVerdict(NAME, Scope.NOTHING, self._source)
        count, limit = group.eviction_count, self._limit
        detail = f"{group.name} was evicted often enough ({count}, with a limit of {limit})"
        return GuardVerdict(NAME, Scope.ALL, self._source, None, ReasonCode.EVICTION_LIMIT, detail)

    def guard_kind(self, preemptor: int) -> Hashable:
        """Whoever asks, the answer is the same."""
        return "anybody"

    def protections(self, pod_group: int) -> Iterator[Protection]:
        """For as long as it runs."""
        group = self._groups[pod_group]
        if group.may_yield and self._is_immune(group):
            yield Protection(pod_group, NAME, self._actions, None, self._source)

    def _is_immune(self, group: PodGroup) -> bool:
        return group.eviction_count >= self._limit
