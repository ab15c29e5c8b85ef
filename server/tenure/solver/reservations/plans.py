"""A plan, and what the plans of one cycle share (semantics R17.5)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.ends import is_overdue
from tenure.solver.model.caller_state import Certainty, PlannedStart, StartDelay
from tenure.solver.model.placement import Placement
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.reservations.gathering import Endless, endless_on_nodes
from tenure.solver.reservations.plugin import ReservedCapacity
from tenure.solver.reservations.settings import NAME, ReservationSettings
from tenure.solver.reservations.timeline import Counts, Event, EventKind, FreeCapacity, Trial, ends_of_running


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


Ended = list[tuple[Event, frozenset[int]]]
"""Ends, with the nodes that the pod groups were on."""


@final
class Plans:
    """What the plans of one cycle share."""

    def __init__(self, context: CycleContext, settings: ReservationSettings) -> None:
        session = context.session
        self.context, self.settings = context, settings
        self.events = ends_of_running(session, session.cluster.now + settings.horizon)
        """In order; with the starts and ends of other plans."""
        self.allowed = context.components.allowed_nodes
        self.free = FreeCapacity(session, context.components.allowed_nodes)
        names = session.registry.guarded.fair_share_names
        self.reserved = ReservedCapacity(session.cluster, session.ledger, names, is_plan=True)
        """Other plans, as reservations."""
        self.chains = session.chains.replacing(NAME, self.reserved)
        """Plugins that decide on plans: other plans count as reservations, in place of those of the cycle."""
        self.planned: dict[int, tuple[tuple[int, Placement], ...]] = {}
        """Places of pod groups with a planned start."""
        self._endless: Mapping[int, Endless] | None = None
        self._overdue: list[int] | None = None

    def places_of(self, pod_group: int) -> list[tuple[TaskShape, int]]:
        """Shapes and nodes of the tasks of a pod group that is placed, or has an earlier plan."""
        cluster, placements = self.context.session.cluster, self.context.session.ledger.placements
        if planned := self.planned.get(pod_group):
            return [(cluster.tasks[task].shape, placement.node) for task, placement in planned]
        own = cluster.pod_groups[pod_group].tasks
        there = [task for task in own if placements[task].is_active_allocated]
        return [(cluster.tasks[task].shape, placements[task].node) for task in there]

    def advance(self, trial: Trial, events: Iterable[Event]) -> Ended:
        """Move the ledger over these events; return the ends among them."""
        ended: Ended = []
        for event in events:
            if event.kind is EventKind.START:
                trial.start(event.placements)
            else:
                ended.append((event, frozenset([node for _, node in self.places_of(event.pod_group)])))
                trial.end(self.context.session.cluster.pod_groups[event.pod_group].tasks)
        return ended

    def counts(self, tasks: Iterable[int]) -> Counts:
        """How many of the tasks fit, with the ledger as it is now."""
        cluster, shapes = self.context.session.cluster, dict[int, int]()
        for shape in [cluster.tasks[task].shape.index for task in tasks]:
            shapes[shape] = shapes.get(shape, 0) + 1
        wanted = [(cluster.shapes[index], number) for index, number in sorted(shapes.items())]
        return Counts(self.context.session.ledger, self.free, wanted)

    def is_node_lost(self, known: PlannedStart) -> bool:
        """Whether a node of a plan is gone, or accepts its pods no longer."""
        shapes = self.context.session.cluster.shapes
        for place in known.places:
            if place.node < 0 or place.shape < 0:
                return True
            if not self.allowed.of(shapes[place.shape]) >> place.node & 1:
                return True
        return False

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
