"""When do pending pod groups start if nothing new arrives? Cycles are played on a copy of the cluster.

Running pod groups end at their likely ends, or at their hard ends (semantics R17.1), and what a cycle starts
ends after its own runtime. Each cycle decides as the service does. Cycles are further apart the later they
are, so that few of them reach far. What a late cycle starts is dated back to when its capacity was freed, and
known as far as the time between two cycles then (semantics R17.22).
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.ends import End, end_after, end_of
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState
from tenure.solver.model.resources import GPU
from tenure.solver.play.freed_capacity import MAX_AWAITED, FreedCapacity
from tenure.solver.play.next_cluster import INTERVAL
from tenure.solver.play.played_cluster import PlayedCluster, PlayedWork
from tenure.solver.play.played_ends import AwaitedEnd, PlayedEnds
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.terms.cancellation import never
from tenure.terms.durations import SECOND

MAX_CYCLES: Final = 64
"""Cycles of a play; of fewer pod groups up to four times as many."""
MOST_CYCLES: Final = 4 * MAX_CYCLES
WORK: Final = 327_680
"""Pod groups that run or wait, times cycles, up to which there are more cycles."""
NAMED: Final = 5
"""Most pod groups that are named as being right before one."""
HORIZON: Final = 7 * 86_400 * SECOND
FEW: Final = 64
"""Number of pod groups, running and waiting, up to which half of the cycles are at every event."""
RESOLUTION: Final = 8
"""Two cycles are at least this part of the time since the first one apart; of more cycles, a smaller part."""


class Start(NamedTuple):
    """When a pod group starts, in nanoseconds since the Unix epoch."""

    after: int
    """If cycles were put off: so much before `at` as two of them are apart then. Else the same as `at`."""
    at: int
    """When the last end freed the capacity for it; the time of the cycle, if that is not known."""
    by: int
    """If cycles were put off: so much after `at`, or the time of the cycle, if that is later."""
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
    ahead: tuple[int, ...] = ()
    """Pod groups right before it, the nearest first; at most NAMED."""


class Played(NamedTuple):
    """What cycles gave."""

    starts: dict[int, Start]
    """By pod group, of the requested pod groups."""
    until: int
    """Time of the last cycle."""
    endless: tuple[int, ...]
    """Pod groups that run then without a known end."""
    is_complete: bool
    """Whether all requested pod groups started, or nothing can happen. False: too many cycles or too far."""
    searches_end: int | None
    """Time of the first cycle that looked for no victims, because searches are bounded; None: all did."""
    work: PlayedWork


@final
class FirstCycle:
    """The cycle of now, with which every play begins. Raises CycleStopped when a stop ends it."""

    def __init__(self, played: PlayedCluster, requested: Collection[int] = ()) -> None:
        self.played = played
        self.requested = requested
        """Pod groups whose starts are requested. Empty: all that wait."""
        self.places: dict[int, Place] = {}
        """Of those that wait after it."""
        self.pending: frozenset[int] = frozenset()
        """Pod groups with pending pods before it: they start in it, have reserved capacity then, or wait."""
        self.held: frozenset[int] = frozenset()
        """Pod groups that something holds, so that they have no place."""
        self.decision = played.decide(self._look)
        cluster = played.cluster
        self.bound = find_started(cluster, self.decision)
        self.ends = {
            group: end_of(cluster.pod_groups[group], cluster.queues, cluster.now)
            for group in sorted(played.running)
        }
        """Of pod groups that run before it."""

    def _look(self, context: CycleContext, _: CycleResult) -> None:
        self.places = find_places(context, self.requested)
        self.pending = frozenset(context.session.phases.pending)
        self.held = frozenset(context.session.phases.held)


@final
class StartPlayer:
    """Plays a cluster on from the first cycle. Raises CycleStopped when a stop ends a later one."""

    def __init__(
        self, first: FirstCycle, end_at: Callable[[End], int | None], *, is_last: bool = False
    ) -> None:
        """`end_at` chooses between the ends of a pod group. `is_last`: no other play begins at this cycle, so
        that what it left is not copied.
        """
        self._first = first
        self._played = first.played if is_last else first.played.fork()
        groups = max(len(self._played.running) + len(first.pending), 1)
        self._cycles = min(max(WORK // groups, MAX_CYCLES), MOST_CYCLES)
        self._at_once = self._cycles // 2 if groups <= FEW else 0
        """Number of cycles that are at every event, at the begin of the play."""
        self._resolution = (self._cycles - self._at_once) * RESOLUTION // MAX_CYCLES
        self._ends = PlayedEnds(end_at, first.ends)
        self._freed = FreedCapacity()
        self._dates: dict[int, int] = {}
        """When pod groups that the last cycle started could have started before it."""
        self._is_put_off = False
        """Whether any cycle came later than what it follows: an end, a wake time or a decision."""

    def play(self) -> Played:
        """Play until the pod groups that are requested have started, or nothing more happens."""
        first, played, starts = self._first, self._played, dict[int, Start]()
        decision, bound, begin = first.decision, first.bound, played.cluster.now
        waiting = set(first.requested or first.pending)
        ended, is_complete = tuple[AwaitedEnd, ...](), True
        while True:
            now = played.cluster.now
            for group in sorted(bound.keys() & waiting):
                starts[group] = self._start(group, begin, bound[group], ended)
                waiting.discard(group)
            if not waiting:
                break
            is_settled = not self._moves(decision)
            self._follow(*played.apply(decision), now)
            event = self._next_event(decision.next_wake_time, is_settled)
            if event is None:
                break
            later = max(event, now + self._step(now - begin))
            if played.work.cycles > self._cycles or later > begin + HORIZON:
                is_complete = False
                break
            played.go_to(later)
            ended = self._end_until(later)
            self._is_put_off |= later > event
            decision = played.decide(self._look)
            bound = find_started(played.cluster, decision)
        endless = self._ends.unknown(played.running)
        return Played(starts, played.cluster.now, endless, is_complete, played.searches_end, played.work)

    def _look(self, context: CycleContext, decision: CycleResult) -> None:
        self._dates = self._freed.date(self._played.cluster, context.session.ledger, decision)

    def _step(self, elapsed: int) -> int:
        """Least time between two cycles."""
        return 0 if self._played.work.cycles < self._at_once else elapsed // self._resolution

    def _start(self, group: int, begin: int, nodes: set[int], ended: tuple[AwaitedEnd, ...]) -> Start:
        now = self._played.cluster.now
        at = min(self._dates.get(group, now), now)
        around = self._step(at - begin) if self._is_put_off else 0
        awaited = self._freed.awaited(nodes) or tuple(
            sorted(ended, key=lambda end: (-end.time, end.pod_group))
        )
        known = [each.certainty for each in awaited]
        certainty = max([*known, self._freed.certainty(nodes)])
        return Start(at - around, at, max(now, at + around), certainty, awaited[:MAX_AWAITED])

    def _moves(self, decision: CycleResult) -> bool:
        """Whether capacity of a cycle goes from one pod group to another: a minute later there is more to
        decide. If pods are bound alone, a cycle that has them before it decides something new only if it may
        evict them: they could not be evicted when they were bound. That counts where every event does.
        """
        if self._played.work.cycles < self._at_once and self._has_bound_preemptible(decision):
            return True
        if self._played.releases or any(s.state is InFlightGroupState.IN_FLIGHT for s in decision.in_flight):
            return True
        return any(each.evictions or each.reservations or any(each.notices) for each in decision.groups)

    def _has_bound_preemptible(self, decision: CycleResult) -> bool:
        groups = self._played.cluster.pod_groups
        return any(each.bindings and groups[each.beneficiary].is_preemptible for each in decision.groups)

    def _next_event(self, wake_time: int | None, is_settled: bool) -> int | None:
        """When something happens after a cycle; None: nothing more does."""
        now = self._played.cluster.now
        end = self._ends.next_time()
        times = [] if end is None else [end]
        if wake_time is not None and wake_time > now:
            times.append(wake_time)
        if not is_settled:
            times.append(now + INTERVAL)
        return min(times, default=None)

    def _follow(self, started: Collection[int], stopped: Collection[int], time: int) -> None:
        """Forget ends of what runs no longer, and note those of what started in the cycle at a time."""
        cluster = self._played.cluster
        self._ends.forget(stopped)
        for pod_group in started:
            at = self._dates.get(pod_group, time)
            self._ends.add(pod_group, end_after(cluster.pod_groups[pod_group], cluster.queues, at, at))

    def _end_until(self, time: int) -> tuple[AwaitedEnd, ...]:
        """End the pod groups whose time has come; return these ends."""
        cluster, ended = self._played.cluster, self._ends.pop_until(time)
        for end in ended:
            for index in cluster.pod_groups[end.pod_group].tasks:
                task = cluster.tasks[index]
                if task.placement.status.is_active_used:
                    self._freed.note(task, end)
        if ended:
            self._played.end([end.pod_group for end in ended])
        return tuple(ended)


class StartEstimates(NamedTuple):
    """The first cycle, and two plays that go on from it."""

    first: FirstCycle
    likely: Played
    """With likely ends."""
    hard: Played
    """With hard ends."""


def estimate_starts(
    cluster: Cluster,
    profile: Profile,
    registry: Registry,
    requested: Collection[int] = (),
    stop: Callable[[], bool] = never,
    warm_start: WarmStart | None = None,
) -> StartEstimates:
    """Play both; without pod groups that are requested, all that wait are.

    `warm_start` is for these plays alone. Raises CycleStopped when `stop` ends a cycle.
    """
    first = FirstCycle(PlayedCluster(cluster, profile, registry, stop, warm_start), requested)
    likely = StartPlayer(first, likely_end).play()
    return StartEstimates(first, likely, StartPlayer(first, hard_end, is_last=True).play())


def find_started(cluster: Cluster, decision: CycleResult) -> dict[int, set[int]]:
    """Nodes on which pods are bound, by pod group, of those that then have their minimum."""
    nodes: dict[int, set[int]] = {}
    bound = set[int]()
    for bind in [bind for group in decision.groups for bind in group.bindings]:
        nodes.setdefault(cluster.tasks[bind.task].pod_group, set()).add(bind.node)
        bound.add(bind.task)
    return {each: found for each, found in nodes.items() if _has_minimum(cluster, each, bound)}


def _has_minimum(cluster: Cluster, pod_group: int, bound: Collection[int]) -> bool:
    """Whether a pod group has its minimum with the tasks that are bound; a part of its subgroups may do."""
    group, active = cluster.pod_groups[pod_group], Counter[int]()
    for task in [cluster.tasks[index] for index in group.tasks]:
        if task.pod_set is not None and (task.placement.status.is_allocated or task.index in bound):
            active[task.pod_set] += 1
    return group.root.is_met(active)


def find_places(context: CycleContext, requested: Collection[int] = ()) -> dict[int, Place]:
    """Places of the pod groups that wait at the end of a cycle: of all, or of those that are requested."""
    session, places = context.session, dict[int, Place]()
    for queue in context.pod_groups.leaf_queues():
        left = {group for group in requested if session.cluster.pod_groups[group].queue == queue}
        ahead, nearest = 0, tuple[int, ...]()
        for position, (_, pod_group) in enumerate(context.pod_groups.pending(queue), start=1):
            if requested and not left:
                break
            if not requested or pod_group in left:
                places[pod_group] = Place(position, ahead, nearest)
                left.discard(pod_group)
            nearest = (pod_group, *nearest[: NAMED - 1])
            ahead += session.ledger.demand(context.gangs.tasks_to_allocate(pod_group))[GPU]
    return places


def likely_end(end: End) -> int | None:
    """By the expected runtime."""
    return end.likely


def hard_end(end: End) -> int | None:
    """By the time limit."""
    return end.hard
