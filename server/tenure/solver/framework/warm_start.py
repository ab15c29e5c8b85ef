"""Openings: what sessions of one state start from, kept from one state to the next.

Opening a session takes sums over all pods and sorts all pod groups, and in the next cycle most of them are
the same. So each of these starts is a part of an opening: built from the whole cluster by the session that
asks for it first, and handed on from session to session. Who gets a part has it alone until the session
closes: brings it up to date with what changed since, changes it as the cycle goes on, and leaves it as it is
then, with a note of the pod groups and tasks that moved. They are looked at again by the next one, like all
that changed. So nothing is copied, and a session costs what changed and what it moves.

States of one lineage share their parts. Deltas may come while a session runs, but there is one session at a
time; whoever wants to decide beside it, a simulation, forks the opening and gets copies. A part that is not
there, because somebody has it or lost it, is built anew.

A part must be as good as one that is built anew: nothing of what was kept may show in a decision.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final, TypeVar

from tenure.solver.plugin_api.profile import Profile
from tenure.solver.resolution.slot_map import SlotChange

Value = TypeVar("Value")

NO_CHANGE: Final = SlotChange(frozenset(), frozenset())
REBUILD_RATIO: Final = 4
"""When more than one in so many pod groups changed, a part is built anew."""


class _Slot:
    """Where a part lies while no session has it."""

    def __init__(self, version: int) -> None:
        self.lock = Lock()
        self.version = version
        """Of the state that the session saw which left it."""
        self.value: Any = None
        """None while a session has it. It has a method `copy`."""
        self.unlike: SlotChange = NO_CHANGE
        """Where it may differ from that state."""

    def copy(self, latest: int, change: SlotChange) -> "_Slot | None":
        """A place for a copy of the part, for a cluster that differs by a change; None: there is no part that
        is as old as this version.
        """
        with self.lock:
            if self.value is None or self.version > latest:
                return None
            other = _Slot(0)
            other.value, other.unlike = self.value.copy(), _both(self.unlike, change)
            return other

    def take(self, latest: int) -> tuple[Any, SlotChange] | None:
        """The part, and where it may differ from the state that it was left by; None likewise."""
        with self.lock:
            value = self.value
            if value is None or self.version > latest:
                return None
            self.value = None
            return value, self.unlike

    def put(self, value: Any, version: int, unlike: SlotChange) -> None:
        """Lay a part here, unless a later one is."""
        with self.lock:
            if self.version <= version:
                self.value, self.version, self.unlike = value, version, unlike


class _Part:
    """How one state finds a part."""

    def __init__(self, slot: _Slot, since: SlotChange) -> None:
        self.slot = slot
        self.since = since
        """What changed up to this state since the part was left."""


class _LineageData:
    """What all states of a lineage have in common: nodes, queues and shapes never change within one."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.profile: Profile | None = None


class WarmStartCache:
    """The parts of one state, by name."""

    def __init__(self) -> None:
        self._version = 0
        """Counts the states of a lineage."""
        self._parts: dict[str, _Part] = {}
        self._lineage = _LineageData()
        self._difference: SlotChange = NO_CHANGE
        """Where the cluster of its sessions differs from the state."""
        self._in_use: dict[str, tuple[_Slot, Any]] = {}
        """What the session has that is open now."""
        self._sum = (NO_CHANGE, NO_CHANGE, NO_CHANGE)
        """Two changes that were added up last, and both: most parts were left by the same session."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found out yet."""
        return not self._parts

    def advance(self, change: SlotChange, pod_groups: int) -> "WarmStartCache":
        """The opening of the state after a change, with so many pod groups."""
        later = WarmStartCache()
        later._version, later._lineage = self._version + 1, self._lineage
        for name, part in self._parts.copy().items():  # a session may be adding to them
            since = self._both(self._since(part), change)
            if len(since.pod_groups) * REBUILD_RATIO <= pod_groups:
                later._parts[name] = _Part(part.slot, since)
        return later

    def branch(self, change: SlotChange) -> "WarmStartCache":
        """The opening for a session on a cluster that differs from the state, in turn with those on it."""
        other = WarmStartCache()
        other._version, other._lineage, other._parts = self._version, self._lineage, self._parts
        other._difference = _both(self._difference, change)
        return other

    def fork(self, change: SlotChange = NO_CHANGE) -> "WarmStartCache":
        """The opening of a cluster that differs from the state, for sessions that run whenever they want."""
        other = WarmStartCache()
        other._lineage, other._difference = self._lineage, self._difference
        for name, part in self._parts.copy().items():
            copied = part.slot.copy(self._version, _both(self._since(part), change))
            if copied is not None:
                other._parts[name] = _Part(copied, NO_CHANGE)
        return other

    def begin(self, profile: Profile) -> bool:
        """Let a session begin; whether it may use what is here: if it has the plugins and options of the
        first.
        """
        self._in_use = {}
        first = self._lineage.profile
        if first is None:
            self._lineage.profile = profile
            return True
        return first.plugins == profile.plugins and first.options == profile.options

    def get(
        self, name: str, build: Callable[[], Value], update: Callable[[Value, SlotChange], None]
    ) -> Value:
        """A part as it must be now, the session's own until it ends. `update` changes it in place."""
        if name in self._in_use:
            mine: Value = self._in_use[name][1]
            return mine
        left = self.take(name)
        if left is None:
            return self.put(name, build())
        value: Value = left[0]
        if left[1] is not NO_CHANGE:
            update(value, left[1])
        return self.put(name, value)

    def get_static(self, name: str, build: Callable[[], Value]) -> Value:
        """What follows from nodes, queues and shapes alone, and so stays as it is."""
        found = self._lineage.values
        if name not in found:
            found[name] = build()
        value: Value = found[name]
        return value

    def take(self, name: str) -> tuple[Any, SlotChange] | None:
        """A part as it was left, and what may have changed since; whoever gets it puts it back."""
        part = self._parts.get(name)
        if part is None:
            return None
        since = self._since(part)
        left = part.slot.take(self._version)
        return None if left is None else (left[0], self._both(left[1], _both(since, self._difference)))

    def put(self, name: str, value: Value) -> Value:
        """A part as it is now: left here when the session ends."""
        part = self._parts.get(name)
        if part is None or part.slot.version > self._version:
            part = self._parts[name] = _Part(_Slot(self._version), NO_CHANGE)
        self._in_use[name] = (part.slot, value)
        return value

    def end(self, moved: SlotChange, pod_groups: int) -> None:
        """The session is over: all it had is left here, but for so many moves that it is not worth it."""
        unlike, taken = _both(self._difference, moved), self._in_use
        self._in_use = {}
        if len(unlike.pod_groups) * REBUILD_RATIO > pod_groups:
            return
        for place, value in taken.values():
            place.put(value, self._version, unlike)

    def _both(self, first: SlotChange, second: SlotChange) -> SlotChange:
        before, after, both = self._sum
        if first is not before or second is not after:
            both = _both(first, second)
            self._sum = (first, second, both)
        return both

    def _since(self, part: _Part) -> SlotChange:
        return part.since if part.slot.version < self._version else NO_CHANGE


def _both(first: SlotChange, second: SlotChange) -> SlotChange:
    if first is NO_CHANGE:
        return second
    if second is NO_CHANGE:
        return first
    return SlotChange(first.pod_groups | second.pod_groups, first.tasks | second.tasks)
