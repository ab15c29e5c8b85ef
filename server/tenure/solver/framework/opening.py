"""Openings: what sessions of one state start from, kept from one state to the next.

Opening a session takes sums over all pods and sorts all pod groups, and in the next cycle most of them are
the same. So each of these starts is a part of an opening: built from the whole cluster by the session that
asks for it first, and afterwards brought up to date with what changed since. A part is never changed once it
is there; sessions work on copies, and several may read one opening at a time.

A part must be what building it anew would give: nothing of what was kept may show in a decision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tenure.solver.framework.profile import Profile
from tenure.solver.model.slots import Change

Value = TypeVar("Value")

NO_CHANGE: Final = Change(frozenset(), frozenset())
MOST: Final = 4
"""When more than one in so many pod groups changed, a part is built anew."""


@dataclass(frozen=True, slots=True)
class _Part:
    value: Any
    since: Change
    """What changed since the value was made."""


class Opening:
    """The parts of one state, by name. Nodes, queues and shapes never change from one opening to the next."""

    def __init__(self) -> None:
        self._parts: dict[str, _Part] = {}
        self._lasting: dict[str, Any] = {}
        self._profile: Profile | None = None
        self._origin: Opening | None = None
        self._apart: Change = NO_CHANGE

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found out yet."""
        return not self._parts

    def after(self, change: Change, pod_groups: int) -> "Opening":
        """The opening of the state after a change, with so many pod groups."""
        later = Opening()
        later._profile, later._lasting = self._profile, self._lasting
        for name, part in self._parts.copy().items():  # a session may be adding to them
            since = _both(part.since, change)
            if len(since.pod_groups) * MOST <= pod_groups:
                later._parts[name] = _Part(part.value, since)
        return later

    def beside(self, change: Change, pod_groups: int) -> "Opening":
        """The opening of a cluster that differs from the state; what is found out there serves here too."""
        other = self.after(change, pod_groups)
        other._origin, other._apart = self, change
        return other

    def suits(self, profile: Profile) -> bool:
        """Whether sessions of this profile may use it: those with the plugins and options of the first."""
        if self._origin is not None:
            self._origin.suits(profile)
        first = self._profile
        if first is None:
            self._profile = profile
            return True
        return first.plugins == profile.plugins and first.options == profile.options

    def get(self, name: str, build: Callable[[], Value], update: Callable[[Value, Change], Value]) -> Value:
        """A part as it is now. The caller copies what it changes."""
        part = self._parts.get(name)
        if part is None:
            return self.put(name, build())
        if part.since.pod_groups or part.since.tasks:
            return self.put(name, update(part.value, part.since))
        value: Value = part.value
        return value

    def once(self, name: str, build: Callable[[], Value]) -> Value:
        """What follows from nodes, queues and shapes alone, and so stays as it is."""
        if name not in self._lasting:
            self._lasting[name] = build()
        value: Value = self._lasting[name]
        return value

    def find(self, name: str) -> tuple[Any, Change] | None:
        """A part as it was left, and what changed since."""
        part = self._parts.get(name)
        return None if part is None else (part.value, part.since)

    def put(self, name: str, value: Value) -> Value:
        """A part as it is now."""
        self._parts[name] = _Part(value, NO_CHANGE)
        if self._origin is not None:
            self._origin._parts[name] = _Part(value, self._apart)
        return value


def _both(first: Change, second: Change) -> Change:
    if first is NO_CHANGE:
        return second
    return Change(first.pod_groups | second.pod_groups, first.tasks | second.tasks)
