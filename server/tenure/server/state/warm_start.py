"""Warm start: derived data of a pushed state, kept from cycle to cycle (`solver.plugin_api.derived`).

A session takes a value, and has it alone until it ends. It leaves the value with a note of the pod groups and
tasks that it moved; the next session looks at those again, and at all that changed in between. So nothing is
copied, and a session costs what changed and what it moves.

Versions of a state share their values. Deltas may arrive while a session runs, but one session runs at a
time; a simulation, which runs beside it, forks and gets copies. A value that is not there is built.
"""

from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Final

from tenure.solver.plugin_api.derived import NO_CHANGE, Derived, WarmStart
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.resolution.slot_map import SlotChange

REBUILD_RATIO: Final = 4
"""A value is not kept when more than one in this number of pod groups changed."""


class _Slot:
    """Holds a value while no session has it."""

    def __init__(self, version: int) -> None:
        self.lock = Lock()
        self.version = version
        """Version of the state of the session that left the value."""
        self.value: Any = None
        """None while a session has it."""
        self.moved: SlotChange = NO_CHANGE
        """Where the value may differ from that state."""

    def copy(self, spec: Derived[Any, Any], latest: int, change: SlotChange) -> "_Slot | None":
        """A slot with a copy, for a cluster that differs by a change; None: no value is that old."""
        with self.lock:
            if self.value is None or self.version > latest or spec.copy is None:
                return None
            other = _Slot(0)
            other.value, other.moved = spec.copy(self.value), _both(self.moved, change)
            return other

    def take(self, latest: int) -> tuple[Any, SlotChange] | None:
        """The value, and where it may differ from the state that it was left for; None likewise."""
        with self.lock:
            value = self.value
            if value is None or self.version > latest:
                return None
            self.value = None
            return value, self.moved

    def put(self, value: Any, version: int, moved: SlotChange) -> None:
        """Leave a value, unless there is one of a later version."""
        with self.lock:
            if self.version <= version:
                self.value, self.version, self.moved = value, version, moved


class _Entry:
    """How one version of a state finds a value."""

    def __init__(self, slot: _Slot, since: SlotChange) -> None:
        self.slot = slot
        self.since = since
        """What changed up to this version since the value was left."""


class _LineageData:
    """What all versions of a state share: nodes, queues and shapes never change within a lineage."""

    def __init__(self) -> None:
        self.values: dict[Derived[Any, Any], Any] = {}
        self.profile: Profile | None = None


class WarmStartCache(WarmStart):
    """The values of one version of a state."""

    def __init__(self) -> None:
        self._version = 0
        """Counts the versions of a lineage."""
        self._entries: dict[Derived[Any, Any], _Entry] = {}
        self._lineage = _LineageData()
        self._difference: SlotChange = NO_CHANGE
        """Where the cluster of its sessions differs from the state."""
        self._taken: dict[Derived[Any, Any], _Slot] = {}
        """Slots of the values that the open session has."""
        self._sum = (NO_CHANGE, NO_CHANGE, NO_CHANGE)
        """The last two changes that were added up, and their sum: most values were left by one session."""

    @property
    def is_empty(self) -> bool:
        """Whether no session has left anything."""
        return not self._entries

    def advance(self, change: SlotChange, pod_groups: int) -> "WarmStartCache":
        """The cache of the next version, after a change, with so many pod groups."""
        later = WarmStartCache()
        later._version, later._lineage = self._version + 1, self._lineage
        for spec, entry in self._entries.copy().items():  # a session may be adding to them
            since = self._both(self._since(entry), change)
            if len(since.pod_groups) * REBUILD_RATIO <= pod_groups:
                later._entries[spec] = _Entry(entry.slot, since)
        return later

    def branch(self, change: SlotChange) -> "WarmStartCache":
        """For a session on a cluster that differs by a change, in turn with the sessions here."""
        other = WarmStartCache()
        other._version, other._lineage, other._entries = self._version, self._lineage, self._entries
        other._difference = _both(self._difference, change)
        return other

    def fork(self, change: SlotChange = NO_CHANGE) -> "WarmStartCache":
        """Copies for sessions on a cluster that differs by a change; they may run at any time."""
        other = WarmStartCache()
        other._lineage, other._difference = self._lineage, self._difference
        for spec, entry in self._entries.copy().items():
            copied = entry.slot.copy(spec, self._version, _both(self._since(entry), change))
            if copied is not None:
                other._entries[spec] = _Entry(copied, NO_CHANGE)
        return other

    def begin(self, profile: Profile) -> bool:
        """Begin a session. True if its plugins and options are those of the first session, but for bounds of
        searches.
        """
        self._taken = {}
        first = self._lineage.profile
        if first is None:
            self._lineage.profile = profile
            return True
        return first.plugins == profile.plugins and _lasting(first.options) == _lasting(profile.options)

    def take(self, spec: Derived[Any, Any]) -> tuple[Any, SlotChange] | None:
        """A value for the open session, and where it may be out of date; None: the session builds it."""
        if spec.follow is None:
            shared = self._lineage.values.get(spec)
            return None if shared is None else (shared, NO_CHANGE)
        entry = self._entries.get(spec)
        if entry is None or entry.slot.version > self._version:
            self._taken[spec] = self._new_slot(spec)
            return None
        since = self._since(entry)
        left = entry.slot.take(self._version)
        self._taken[spec] = entry.slot if entry.slot.version <= self._version else self._new_slot(spec)
        return None if left is None else (left[0], self._both(left[1], _both(since, self._difference)))

    def leave(self, values: Mapping[Derived[Any, Any], Any], moved: SlotChange, pod_groups: int) -> None:
        """End the session. Its values are kept, unless so many pod groups differ that it is not worth it."""
        differs, taken = _both(self._difference, moved), self._taken
        self._taken = {}
        is_worth = len(differs.pod_groups) * REBUILD_RATIO <= pod_groups
        for spec, value in values.items():
            if spec.follow is None:
                self._lineage.values.setdefault(spec, value)
            elif is_worth and spec in taken:
                taken[spec].put(value, self._version, differs)

    def _new_slot(self, spec: Derived[Any, Any]) -> _Slot:
        entry = self._entries[spec] = _Entry(_Slot(self._version), NO_CHANGE)
        return entry.slot

    def _both(self, first: SlotChange, second: SlotChange) -> SlotChange:
        before, after, both = self._sum
        if first is not before or second is not after:
            both = _both(first, second)
            self._sum = (first, second, both)
        return both

    def _since(self, entry: _Entry) -> SlotChange:
        return entry.since if entry.slot.version < self._version else NO_CHANGE


def _both(first: SlotChange, second: SlotChange) -> SlotChange:
    if first is NO_CHANGE:
        return second
    if second is NO_CHANGE:
        return first
    return SlotChange(first.pod_groups | second.pod_groups, first.tasks | second.tasks)


def _lasting(options: CycleOptions) -> CycleOptions:
    """Options without the bounds and the speedups of searches, on which no value depends."""
    return replace(options, max_simulations_per_pod_group=0, max_simulations_per_action=0, speedups=())
