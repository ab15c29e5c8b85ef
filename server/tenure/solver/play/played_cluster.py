"""A cluster on which cycles are played: decisions are applied, and pod groups end (semantics R17.22).

A played cycle costs what changes, as a cycle on a pushed state does: derived data is kept from one to the
next, and the next cluster shares what is the same. Searches for victims are bounded for each cycle and for a
whole play. When that is used up, later cycles give free capacity only.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.known_failures import passing_over_known_failures
from tenure.solver.actions.requeue import REQUEUE
from tenure.solver.cycle import decide
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.play.next_cluster import advance, moving_tasks, running_pod_groups
from tenure.solver.play.sequential_warm_start import SequentialWarmStart
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import with_required_plugins
from tenure.solver.resolution.slot_map import SlotChange

MAX_SIMULATIONS: Final = (8, 32)
"""Search budget of a played cycle, for a pod group and for an action."""
MAX_PLAYED_SIMULATIONS: Final = 512
"""Simulations of all cycles of a play after which no more victims are looked for."""
_ENDED: Final = Placement(TaskStatus.SUCCEEDED)


class PlayedWork(NamedTuple):
    """What was played: exact counters, for the bounds and for those who watch the cost."""

    cycles: int = 0
    simulations: int = 0
    """Of scenarios with victims."""
    placements: int = 0
    """Tasks that cycles tried to place."""
    moved: int = 0
    """Tasks that differ between one cluster and the next."""


@final
class PlayedCluster:
    """One play. `fork` gives another one that begins at the same point."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        registry: Registry,
        stop: Callable[[], bool],
        warm_start: WarmStart | None = None,
        origin: "PlayedCluster | None" = None,
    ) -> None:
        """`warm_start` is used by this play alone: a fork of what sessions on the cluster left.

        With an `origin`, the play goes on from there, with its profile.
        """
        self.cluster = cluster
        self.work: PlayedWork = PlayedWork() if origin is None else origin.work
        self.searches_end: int | None = None if origin is None else origin.searches_end
        """Time of the first cycle that looked for no victims; None: all did."""
        self.running: set[int] = running_pod_groups(cluster) if origin is None else origin.running.copy()
        """Pod groups with pods on nodes."""
        self._moving: list[int] = moving_tasks(cluster) if origin is None else origin._moving
        self._profile = _bounded(cluster, profile) if origin is None else profile
        self._registry = registry
        self._stop = stop
        self._warm_start = warm_start
        if origin is None:
            is_connected = bool(cluster.claims) or any(node.numa_zones for node in cluster.nodes)
            self._warm_start = None if is_connected else warm_start or SequentialWarmStart()

    def fork(self) -> "PlayedCluster":
        """Another play from here, independent of this one."""
        kept = None if self._warm_start is None else self._warm_start.fork()
        return PlayedCluster(self.cluster, self._profile, self._registry, self._stop, kept, self)

    @property
    def releases(self) -> bool:
        """Whether pods terminate, whose capacity is free a cycle later."""
        tasks = self.cluster.tasks
        return any(tasks[index].placement.status is TaskStatus.RELEASING for index in self._moving)

    def decide(self, look: Callable[[CycleContext, CycleResult], None]) -> CycleResult:
        """Play a cycle; `look` sees the end of it. Raises CycleStopped."""
        decided = decide(
            self.cluster,
            self._profile,
            self._stop,
            warm_start=self._warm_start,
            registry=self._registry,
        )
        decision, is_stopped = decided.result, decided.context.session.stop.is_set
        if not is_stopped:
            look(decided.context, decision)
        decided.close()
        if is_stopped:
            raise CycleStopped
        counters, work = decision.counters, self.work
        self.work = work._replace(
            cycles=work.cycles + 1,
            simulations=work.simulations + counters.simulated,
            placements=work.placements + counters.placement_attempts,
        )
        return decision

    def apply(self, decision: CycleResult) -> tuple[list[int], list[int]]:
        """Apply a decision. Returns the pod groups that began to run, and that stopped."""
        self.cluster, change = advance(self.cluster, decision, 0, self._moving)
        self._moving = []
        ran = change.pod_groups & self.running
        self._follow(change)
        run = change.pod_groups & self.running
        return sorted(run - ran), sorted(ran - run)

    def go_to(self, time: int) -> None:
        """Go to the time of the next cycle."""
        self.cluster = replace(self.cluster, now=time)
        if self.searches_end is None and self.work.simulations >= MAX_PLAYED_SIMULATIONS:
            self.searches_end = time
            actions = self._registry.actions
            quiet = [name for name in self._profile.actions if not actions[name].is_guarded]
            self._profile = replace(self._profile, actions=tuple(quiet))

    def end(self, pod_groups: Iterable[int]) -> None:
        """End pod groups: their pods are gone."""
        tasks, changed = self.cluster.tasks.next_version(), set[int]()
        groups = frozenset(pod_groups)
        for index in [index for group in groups for index in self.cluster.pod_groups[group].tasks]:
            tasks.put(index, tasks[index].placed(_ENDED))
            changed.add(index)
        self.cluster = replace(self.cluster, tasks=tasks)
        self._follow(SlotChange(groups, frozenset(changed)))

    def _follow(self, change: SlotChange) -> None:
        groups, tasks = self.cluster.pod_groups, self.cluster.tasks
        self.work = self.work._replace(moved=self.work.moved + len(change.tasks))
        if self._warm_start is not None:
            self._warm_start = self._warm_start.advance(change, len(groups))
        for index in change.pod_groups:
            if any(tasks[task].placement.is_allocated for task in groups[index].tasks):
                self.running.add(index)
            else:
                self.running.discard(index)


def _bounded(cluster: Cluster, profile: Profile) -> Profile:
    """A profile whose searches are bounded, without requeue if nothing could be requeued."""
    each, action = MAX_SIMULATIONS
    options = replace(
        profile.options,
        max_simulations_per_pod_group=min(profile.options.max_simulations_per_pod_group, each),
        max_simulations_per_action=min(profile.options.max_simulations_per_action, action),
    )
    actions = tuple([name for name in profile.actions if name != REQUEUE.name or _may_requeue(cluster)])
    bounded = with_required_plugins(replace(profile, actions=actions, options=options))
    return passing_over_known_failures(bounded)


def _may_requeue(cluster: Cluster) -> bool:
    """Whether any pod group could be requeued for one of higher priority. If not, its end is no event."""
    priorities = {group.facts.priority for group in cluster.pod_groups if group.tasks}
    highest = max(priorities, default=0)
    for group in cluster.pod_groups if len(priorities) > 1 else ():
        is_lower = group.facts.priority < highest and group.is_evictable
        if is_lower and expected_runtime(group, cluster.queues)[0].is_set:
            return True
    return False
