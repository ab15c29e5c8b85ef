"""The derived data of one session: taken from a warm start, or built."""

from typing import Any

from tenure.solver.plugin_api.derived import Derived, Source, Value, WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.resolution.slot_map import SlotChange


class DerivedData:
    """Values by the constant that derives them. The session owns them until it ends."""

    def __init__(self, profile: Profile, warm_start: WarmStart | None = None) -> None:
        """Without a warm start, or with one for another profile, everything is built."""
        is_used = warm_start is not None and warm_start.begin(profile)
        self._warm_start = warm_start if is_used else None
        self._values: dict[Derived[Any, Any], Any] = {}

    def get(self, spec: Derived[Source, Value], source: Source) -> Value:
        """The value as it is for this source: the same object on every call."""
        if spec in self._values:
            known: Value = self._values[spec]
            return known
        taken = None if self._warm_start is None else self._warm_start.take(spec)
        if taken is None:
            value = spec.build(source)
        else:
            value = taken[0]
            if spec.follow is not None:
                spec.follow(value, source, taken[1])
        self._values[spec] = value
        return value

    @property
    def is_kept(self) -> bool:
        """Whether a later session may use the values."""
        return self._warm_start is not None

    def leave(self, moved: SlotChange, pod_groups: int) -> bool:
        """End the session. Returns whether the values are kept for the next one."""
        values, self._values = self._values, {}
        if self._warm_start is None:
            return False
        self._warm_start.leave(values, moved, pod_groups)
        return True

    def drop(self) -> None:
        """End the session without leaving anything."""
        self._values = {}
