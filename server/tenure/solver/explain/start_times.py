"""When do pending pod groups start if nothing new arrives? Cycles are played on a copy of the cluster.

Running pod groups end at their likely ends, or at their hard ends (semantics R17.1), and what a cycle starts
ends after its own runtime. Each cycle decides as the service does. Cycles are further apart the later they
are, so that few of them reach far; a start is known as far as the time between two cycles (semantics R17.22).
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final, NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.cycle import run_cycle
from tenure.solver.ends import End, end_after, end_of
from tenure.solver.explain.what_if import INTERVAL
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import Task
from tenure.solver.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.terms.cancellation import never
from tenure.terms.durations import SECOND

MAX_CYCLES: Final = 64
HORIZON: Final = 7 * 86_400 * SECOND
RESOLUTION: Final = 8
"""Two cycles are at least this part of the time since the first one apart."""
MAX_SIMULATIONS: Final = (8, 32)
"""Search budget of a played cycle, for a pod group and for an action."""
MAX_AWAITED: Final = 5
"""Ends that are named for one start."""
_ENDED: Final = Placement(TaskStatus.SUCCEEDED)


class AwaitedEnd(NamedTuple):
    """The end of a pod group that frees what another one starts on."""

    pod_group: int
    time: int
    certainty: Certainty


class Start(NamedTuple):
    """When a pod group starts, in nanoseconds since the Unix epoch."""

    after: int
    """The first time after the cycle before at which something ended."""
    by: int
    """Time of the cycle in which it starts: the same, unless that cycle was put off."""
    certainty: Certainty
    """The worst of the ends that it waits for; BOUNDED if there are none."""
    awaited: tuple[AwaitedEnd, ...]
    """What ended on its nodes, or when it started, the last first."""


class Place(NamedTuple):
    """Where a pod group waits in the order of its queue (semantics R17.20)."""

    position: int
    """1: the first."""
    gpu_milli_ahead: int
    """What those before it ask for."""


class Played(NamedTuple):
    """What cycles gave."""

    places: dict[int, Place]
    """Of pod groups that wait after the first cycle."""
    held: frozenset[int]
    """Pod groups that something holds, so that they have no place."""
    starts: dict[int, Start]
    """By pod group, of those that were asked for."""
    until: int
    """Time of the last cycle."""
    endless: tuple[int, ...]
    """Pod groups that run then without a known end."""
    is_complete: bool
    """Whether all that were asked for started, or nothing more happens. False: too many cycles or too far."""


class StartPlayer:
    """Plays a cluster on. Raises CycleStopped when `stop` ends a cycle."""

    def __init__(
        self,
        profile: Profile,
        registry: Registry,
        end_at: Callable[[End], int | None],
        stop: Callable[[], bool] = never,
    ) -> None:
        """`end_at` chooses between the ends of a pod group."""
        each, action = MAX_SIMULATIONS
        options = profile.options
        self._profile = replace(
            profile,
            options=replace(
                options,
                max_simulations_per_pod_group=min(options.max_simulations_per_pod_group, each),
                max_simulations_per_action=min(options.max_simulations_per_action, action),
            ),
        )
        self._registry = registry
        self._end_at = end_at
        self._stop = stop
        self._ends: dict[int, AwaitedEnd] = {}
        """Of running pod groups."""
        self._heap: list[tuple[int, int]] = []
        self._freed: dict[int, list[AwaitedEnd]] = {}
        """Ends in order, by node."""

    def play(self, cluster: Cluster, asked: Collection[int] = ()) -> Played:
        """Play until the pod groups that are asked for have started, or nothing more happens.

        Without any, all that wait are asked for.
        """
        starts, waiting, first = dict[int, Start](), set(asked), cluster.now
        for group in sorted(_running(cluster)):
            self._note_end(cluster, group, end_of(cluster.pod_groups[group], cluster.queues, first))
        before, ended, is_complete = first, tuple[AwaitedEnd, ...](), True
        places, held = dict[int, Place](), frozenset[int]()
        for number in range(MAX_CYCLES + 1):
            context, decision = self._decide(cluster)
            bound = self._bound(cluster, decision)
            if number == 0:
                places, held = find_places(context), frozenset(context.session.phases.held)
                waiting = waiting or {*places, *bound}
            context.close()
            for group in sorted(bound.keys() & waiting):
                starts[group] = self._start(before, cluster.now, bound[group], ended)
                waiting.discard(group)
            event = self._next_event(cluster, decision)
            if not waiting or event is None:
                break
            later = max(event, cluster.now + (cluster.now - first) // RESOLUTION)
            if number == MAX_CYCLES or later > first + HORIZON:
                is_complete = False
                break
            before, running, started = event, _running(cluster), cluster.now
            cluster = apply_decisions(cluster, decision, later - cluster.now)
            self._follow(cluster, running, started)
            cluster, ended = self._end_until(cluster, later)
        endless = tuple(sorted(_running(cluster) - self._ends.keys()))
        return Played(places, held, starts, cluster.now, endless, is_complete)

    def _decide(self, cluster: Cluster) -> tuple[CycleContext, CycleResult]:
        context, decision = run_cycle(
            cluster, self._profile, self._stop, registry=self._registry, with_reasons=False
        )
        if context.session.stop.is_set:
            context.close()
            raise CycleStopped
        return context, decision

    def _bound(self, cluster: Cluster, decision: CycleResult) -> dict[int, set[int]]:
        """Nodes on which pods are bound, by pod group, of those that then have their minimum."""
        nodes: dict[int, set[int]] = {}
        counts: dict[int, int] = {}
        for bind in [bind for group in decision.groups for bind in group.bindings]:
            pod_group = cluster.tasks[bind.task].pod_group
            nodes.setdefault(pod_group, set()).add(bind.node)
            counts[pod_group] = counts.get(pod_group, 0) + 1
        for pod_group, count in counts.items():
            group = cluster.pod_groups[pod_group]
            running = sum(cluster.tasks[task].placement.status.is_allocated for task in group.tasks)
            if running + count < sum(pod_set.min_available for pod_set in group.pod_sets):
                del nodes[pod_group]
        return nodes

    def _start(self, before: int, now: int, nodes: set[int], ended: tuple[AwaitedEnd, ...]) -> Start:
        on_nodes = {end for node in nodes for end in self._freed.get(node, [])}
        awaited = sorted(on_nodes or ended, key=lambda end: (-end.time, end.pod_group))
        certainty = max([end.certainty for end in awaited], default=Certainty.BOUNDED)
        return Start(before, now, certainty, tuple(awaited[:MAX_AWAITED]))

    def _next_event(self, cluster: Cluster, decision: CycleResult) -> int | None:
        """When something happens after a cycle; None: nothing more does."""
        while self._heap and self._is_stale(self._heap[0]):
            heappop(self._heap)
        times = [time for time, _ in self._heap[:1]]
        if decision.next_wake_time is not None and decision.next_wake_time > cluster.now:
            times.append(decision.next_wake_time)
        in_flight = any(each.state is InFlightGroupState.IN_FLIGHT for each in decision.in_flight)
        if decision.groups or in_flight or _releases(cluster):
            times.append(cluster.now + INTERVAL)
        return min(times, default=None)

    def _is_stale(self, item: tuple[int, int]) -> bool:
        known = self._ends.get(item[1])
        return known is None or known.time != item[0]

    def _note_end(self, cluster: Cluster, pod_group: int, end: End) -> None:
        time = self._end_at(end)
        if time is None:
            return
        certainty = Certainty.BOUNDED if time == end.hard else end.certainty
        self._ends[pod_group] = AwaitedEnd(pod_group, time, certainty)
        heappush(self._heap, (time, pod_group))

    def _follow(self, cluster: Cluster, before: Collection[int], start: int) -> None:
        """Forget ends of what runs no longer, and note those of what started in the cycle at `start`."""
        running = _running(cluster)
        for pod_group in sorted(self._ends.keys() - running):
            del self._ends[pod_group]
        for pod_group in sorted(running.difference(before)):
            group = cluster.pod_groups[pod_group]
            self._note_end(cluster, pod_group, end_after(group, cluster.queues, start, start))

    def _end_until(self, cluster: Cluster, time: int) -> tuple[Cluster, tuple[AwaitedEnd, ...]]:
        """The cluster without the pod groups that have ended, and these ends."""
        ended: list[AwaitedEnd] = []
        tasks: PersistentVector[Task] | None = None
        while self._heap and self._heap[0][0] <= time:
            item = heappop(self._heap)
            if self._is_stale(item):
                continue
            end = self._ends.pop(item[1])
            ended.append(end)
            tasks = cluster.tasks.next_version() if tasks is None else tasks
            for index in cluster.pod_groups[end.pod_group].tasks:
                task = cluster.tasks[index]
                if task.placement.status.is_active_used:
                    self._freed.setdefault(task.placement.node, []).append(end)
                tasks.put(index, replace(task, placement=_ENDED))
        return cluster if tasks is None else replace(cluster, tasks=tasks), tuple(ended)


def find_places(context: CycleContext) -> dict[int, Place]:
    """Places of the pod groups that wait at the end of a cycle."""
    session, places = context.session, dict[int, Place]()
    for queue in context.pod_groups.leaf_queues():
        ahead = 0
        for position, (_, pod_group) in enumerate(context.pod_groups.pending(queue), start=1):
            places[pod_group] = Place(position, ahead)
            ahead += session.ledger.demand(context.gangs.tasks_to_allocate(pod_group))[GPU]
    return places


def _running(cluster: Cluster) -> set[int]:
    """Pod groups with pods on nodes."""
    return {task.pod_group for task in cluster.tasks if task.placement.status.is_allocated}


def _releases(cluster: Cluster) -> bool:
    return any(task.placement.status is TaskStatus.RELEASING for task in cluster.tasks)


def likely_end(end: End) -> int | None:
    """By the expected runtime."""
    return end.likely


def hard_end(end: End) -> int | None:
    """By the time limit."""
    return end.hard
