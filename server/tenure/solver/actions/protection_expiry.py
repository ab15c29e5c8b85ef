"""Whether any guard of an action says until when it protects anybody, without asking about everybody again.

Who fails is told when to try again: when the first protection ends. As a rule nobody is protected for a
while, and to find that out once per queue and kind of preemptor is enough: the facts are those of the
snapshot, and only pod groups that start in this cycle come in addition.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.plugin_api.action import Action

ALL: Final = "all"
SPENT: Final = "spent"


class ProtectionExpiries:
    """What guards say of the victims of one action, in sum."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._session = context.session
        self._pod_group_index = context.pod_group_index
        self._action = action
        self._checked: dict[tuple[Hashable, ...], int] = {}
        """How many of the spent ones were asked about, by kind and queue, as long as nothing was found."""
        self._protected: set[tuple[Hashable, ...]] = set()

    def may_protect_spent(self, preemptor: int, queue: int) -> bool:
        """Whether any may protect one of whom nothing may be taken anyway."""
        return self._may_protect(SPENT, preemptor, queue)

    def may_protect_any(self, preemptor: int, queue: int) -> bool:
        """Whether any may protect a victim of the queue."""
        return self._may_protect(ALL, preemptor, queue)

    def _may_protect(self, whom: str, preemptor: int, queue: int) -> bool:
        kind = self._session.guards.cache_key(preemptor)
        if kind is None or self._session.chains.allows_victim:
            return True
        key, spent = (whom, kind, queue), self._pod_group_index.spent(queue)
        if key in self._protected:
            return True
        asked = self._checked.get(key)
        if asked is None and whom is ALL:
            news: Sequence[int] = self._pod_group_index.victim_groups(queue)
        else:
            news = spent[asked or 0 :]
        if news and self._session.guards.may_expire(news):
            for victim in news:
                if self._is_delayed(preemptor, victim):
                    self._protected.add(key)
                    return True
        self._checked[key] = len(spent)
        return False

    def _is_delayed(self, preemptor: int, victim: int) -> bool:
        self._session.stop.check()
        rejection = self._session.guards.allows_victim(self._action, preemptor, victim)
        return rejection is not None and rejection.until is not None
