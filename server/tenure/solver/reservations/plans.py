"""A plan, and what the plans of one cycle share (semantics R17.5)."""

from collections.abc import Mapping
from typing import NamedTuple, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.ends import is_overdue
from tenure.solver.model.caller_state import Certainty, StartDelay
from tenure.solver.model.placement import Placement
from tenure.solver.plugins.reservation.plugin import ReservedCapacity
from tenure.solver.plugins.reservation.settings import ReservationSettings
from tenure.solver.reservations.gathering import Endless, endless_on_nodes
from tenure.solver.reservations.timeline import FreeCapacity, ends_of_running


class Plan(NamedTuple):
    """Where the next tasks of a pod group are to start, and when."""

    start: int | None
    certainty: Certainty
    placements: tuple[tuple[int, Placement], ...]
    """Tasks with their places; without a start, of those that fit after all known ends."""
    is_due: bool = True
    """Whether its queue may use as much then; without a start, after all known ends."""
    delay: StartDelay = StartDelay.UNSPECIFIED
    """Why it is later than the known plan."""

    @property
    def bounded(self) -> int | None:
        """The start, if it is bounded."""
        return self.start if self.certainty is Certainty.BOUNDED else None


@final
class Plans:
    """What the plans of one cycle share."""

    def __init__(self, context: CycleContext, settings: ReservationSettings) -> None:
        session = context.session
        self.context, self.settings = context, settings
        self.events = ends_of_running(session, session.cluster.now + settings.horizon)
        """In order; with the starts and ends of other plans."""
        self.allowed = context.parts.allowed_nodes
        self.free = FreeCapacity(session, context.parts.allowed_nodes)
        names = session.registry.guarded.fair_share_names
        self.reserved = ReservedCapacity(session.cluster, session.ledger, names)
        """Other plans, as reservations."""
        self.reserved.is_plan = True
        self.planned: dict[int, tuple[tuple[int, Placement], ...]] = {}
        """Places of pod groups with a planned start."""
        self._endless: Mapping[int, Endless] | None = None
        self._overdue: list[int] | None = None

    def overdue(self) -> list[int]:
        """Running pod groups that exceeded their expected runtime or time limit."""
        if self._overdue is None:
            session, cluster = self.context.session, self.context.session.cluster
            found = session.phases.running
            self._overdue = [
                i for i in found if is_overdue(cluster.pod_groups[i], cluster.queues, cluster.now)
            ]
        return self._overdue

    def endless(self) -> Mapping[int, Endless]:
        """What runs without an end, by node."""
        if self._endless is None:
            self._endless = endless_on_nodes(self.context)
        return self._endless
