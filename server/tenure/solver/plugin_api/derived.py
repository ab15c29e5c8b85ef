"""Derived data: computed from a cluster once, then updated from cycle to cycle.

A cycle begins with sums over all pods and sorted lists of all pod groups. In the next cycle most of them are
the same. A `Derived` constant says how such a value is built, how it follows a change of the cluster, and how
it is copied. A value that followed all changes equals one that was just built, so no decision depends on it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar, final

from tenure.solver.plugin_api.profile import Profile
from tenure.solver.resolution.slot_map import SlotChange

Source = TypeVar("Source")
Value = TypeVar("Value")

NO_CHANGE: Final = SlotChange(frozenset(), frozenset())


@final
class Derived(Generic[Source, Value]):
    """How one value is derived. A constant of a module; the object itself is the key.

    A source is what a value is computed from: a cluster, the context of a plugin, a session.
    """

    def __init__(
        self,
        build: Callable[[Source], Value],
        follow: Callable[[Value, Source, SlotChange], None] | None = None,
        copy: Callable[[Value], Value] | None = None,
    ) -> None:
        """`follow` updates a value in place; its change names the pod groups and tasks that may differ, and
        may be empty. Without `follow` and `copy` the value depends on nodes, queues and shapes alone: it
        never changes, and all sessions of a state share it.
        """
        self.build: Final = build
        self.follow: Final = follow
        self.copy: Final = copy


class WarmStart(Protocol):
    """What sessions leave for the sessions after them. One session at a time uses it."""

    @property
    def is_empty(self) -> bool:
        """Whether no session has left anything."""

    def begin(self, profile: Profile) -> bool:
        """Begin a session. Returns whether its profile may use what is here."""

    def take(self, spec: Derived[Any, Any]) -> tuple[Any, SlotChange] | None:
        """A value for the session alone, and where it may be out of date; None: build it."""

    def leave(self, values: Mapping[Derived[Any, Any], Any], moved: SlotChange, pod_groups: int) -> None:
        """End the session. `moved`: what it moved, in a cluster with so many pod groups."""

    def advance(self, change: SlotChange, pod_groups: int) -> "WarmStart":
        """For the sessions on the cluster after a change, with so many pod groups."""

    def branch(self, change: SlotChange) -> "WarmStart":
        """For a session on a cluster that differs by a change, in turn with the sessions here."""

    def fork(self, change: SlotChange = NO_CHANGE) -> "WarmStart":
        """Copies for sessions on a cluster that differs by a change; they may run at any time."""
