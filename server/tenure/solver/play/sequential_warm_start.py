"""Derived data of played cycles, kept from one to the next. One session follows the other, so no value is
copied.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tenure.solver.plugin_api.derived import NO_CHANGE, Derived
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.resolution.slot_map import SlotChange

REBUILD_RATIO: Final = 4
"""A value is built again when more than one in this number of pod groups changed."""


class _Kept(NamedTuple):
    value: Any
    change: SlotChange
    """Where it may be out of date."""


class SequentialWarmStart:
    """Values that the last session left, for the next one: a `WarmStart`.

    It does not name the protocol as its base, because compiled protocols have no interpreted subclasses.
    """

    def __init__(
        self, kept: "dict[Derived[Any, Any], _Kept] | None" = None, difference: SlotChange = NO_CHANGE
    ) -> None:
        self._kept: dict[Derived[Any, Any], _Kept] = {} if kept is None else kept
        self._difference = difference

    @property
    def is_empty(self) -> bool:
        """Whether no session has left anything."""
        return not self._kept

    def advance(self, change: SlotChange, pod_groups: int) -> "SequentialWarmStart":
        """Itself, for the cluster after a change, with so many pod groups."""
        joined: dict[int, SlotChange] = {}  # most values are out of date since the same cycle
        for spec, (value, since) in list(self._kept.items()):
            if spec.follow is not None:
                both = joined.get(id(since))
                if both is None:
                    both = joined[id(since)] = _join(since, change)
                if len(both.pod_groups) * REBUILD_RATIO <= pod_groups:
                    self._kept[spec] = _Kept(value, both)
                else:
                    del self._kept[spec]
        return self

    def begin(self, profile: Profile) -> bool:
        """Begin a session. All of a run have the same profile."""
        return True

    def take(self, spec: Derived[Any, Any]) -> tuple[Any, SlotChange] | None:
        """A value for the session alone, and where it may be out of date; None: build it."""
        if spec.follow is None:
            kept = self._kept.get(spec)
            return None if kept is None else (kept.value, NO_CHANGE)
        kept = self._kept.pop(spec, None)
        return None if kept is None else (kept.value, _join(kept.change, self._difference))

    def leave(self, values: Mapping[Derived[Any, Any], Any], moved: SlotChange, pod_groups: int) -> None:
        """End the session. Its values are kept unless too many pod groups differ."""
        differs = _join(self._difference, moved)
        is_worth = len(differs.pod_groups) * REBUILD_RATIO <= pod_groups
        for spec, value in values.items():
            if spec.follow is None or is_worth:
                self._kept[spec] = _Kept(value, differs)

    def branch(self, change: SlotChange) -> "SequentialWarmStart":
        """For a session on a cluster that differs by a change, in turn with the sessions here."""
        return SequentialWarmStart(self._kept, _join(self._difference, change))

    def fork(self, change: SlotChange = NO_CHANGE) -> "SequentialWarmStart":
        """Copies for sessions on a cluster that differs by a change, beside the sessions here."""
        difference = _join(self._difference, change)
        kept: dict[Derived[Any, Any], _Kept] = {}
        for spec, (value, since) in self._kept.items():
            if spec.follow is None:
                kept[spec] = _Kept(value, since)
            elif spec.copy is not None:
                kept[spec] = _Kept(spec.copy(value), _join(since, difference))
        return SequentialWarmStart(kept)


def _join(first: SlotChange, second: SlotChange) -> SlotChange:
    if first is NO_CHANGE:
        return second
    if second is NO_CHANGE:
        return first
    return SlotChange(first.pod_groups | second.pod_groups, first.tasks | second.tasks)
