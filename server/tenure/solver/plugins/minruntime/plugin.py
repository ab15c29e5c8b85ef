"""The minruntime plugin: protects what has not run long enough (semantics section 7)."""

from collections.abc import Iterator, Mapping

from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.duration import format_duration, parse_duration
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugins.minruntime.resolver import LCA, QUEUE, Resolved, Resolver, protected_until

GUARDED = ("preempt", "reclaim")


def method(text: str) -> str:
    """`lca` or `queue`; ValueError otherwise."""
    if text not in (LCA, QUEUE):
        raise ValueError(f"{text!r} is not a resolve method; use lca or queue")
    return text


class MinRuntime:
    """Victim filter for gangs, scenario validator for elastic pod groups."""

    ARGUMENTS = {
        "defaultPreemptMinRuntime": parse_duration,
        "defaultReclaimMinRuntime": parse_duration,
        "reclaimResolveMethod": method,
    }

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._session = session
        self._now = session.cluster.now
        self._groups = session.cluster.pod_groups
        self._queues = session.cluster.queues
        self._resolver = Resolver(
            self._queues,
            parse_duration(arguments.get("defaultPreemptMinRuntime", "0s")),
            parse_duration(arguments.get("defaultReclaimMinRuntime", "0s")),
            arguments.get("reclaimResolveMethod", LCA),
        )

    def allows_victim(self, action: str, preemptor: int, victim: int) -> Rejection | None:
        """Protected gangs are no victims; elastic ones may lose surplus (semantics R7.30, R7.31)."""
        if action not in GUARDED or self._is_elastic(self._groups[victim]):
            return None
        return self._protection(action, preemptor, victim)

    def allows_scenario(self, action: str, scenario: Scenario) -> Rejection | None:
        """A protected elastic pod group keeps its minimum in every pod set it loses from (R7.40)."""
        if action not in GUARDED:
            return None
        for victim, tasks in scenario.victims().items():
            if self._is_elastic(self._groups[victim]) and self._breaks_minimum(victim, tasks):
                rejection = self._protection(action, scenario.preemptor, victim)
                if rejection is not None:
                    return rejection
        return None

    def protections(self, pod_group: int) -> Iterator[Protection]:
        """Until when it may not be preempted, and by whom not be reclaimed."""
        group = self._groups[pod_group]
        if not group.is_preemptible:
            return
        yield from self._entry(group, "preempt", self._resolver.preempt(group.queue), "")
        if group.queue is None:
            yield from self._entry(group, "reclaim", self._resolver.reclaim(None, None), "")
            return
        path = self._queues[group.queue].path
        reported = set()
        for reclaimer in self._queues:
            if reclaimer.is_leaf and reclaimer.index != group.queue:
                level = self._resolver.level(reclaimer.index, group.queue)
                against = self._queues[path[level - 1]].name if level else ""
                if against not in reported:
                    reported.add(against)
                    resolved = self._resolver.reclaim(reclaimer.index, group.queue)
                    yield from self._entry(group, "reclaim", resolved, against)

    def _entry(self, group: PodGroup, action: str, resolved: Resolved, against: str) -> Iterator[Protection]:
        until = protected_until(group.last_start, resolved.minimum, self._now)
        if until is not None:
            yield Protection(group.index, "minruntime", action, until, self._source(resolved), against)

    def _protection(self, action: str, preemptor: int, victim: int) -> Rejection | None:
        mine, theirs = self._groups[preemptor].queue, self._groups[victim].queue
        if action == "preempt":
            resolved = self._resolver.preempt(theirs)
        else:
            resolved = self._resolver.reclaim(mine, theirs)
        until = protected_until(self._groups[victim].last_start, resolved.minimum, self._now)
        if until is None:
            return None
        left = format_duration(until - self._now)
        detail = f"{self._groups[victim].name} is protected for another {left} by {self._source(resolved)}"
        return Rejection(ReasonCode.MIN_RUNTIME, detail, until)

    def _source(self, resolved: Resolved) -> str:
        if resolved.queue is None:
            return "default of minruntime"
        return f"queue {self._queues[resolved.queue].name}"

    def _is_elastic(self, group: PodGroup) -> bool:
        """More tasks than the minimum in some pod set, whatever their status (semantics R1.57)."""
        return any(pod_set.min_available < len(pod_set.tasks) for pod_set in group.pod_sets)

    def _breaks_minimum(self, victim: int, tasks: list[int]) -> bool:
        """Whether a pod set that loses tasks would be left with fewer than its minimum.

        Every task listed counts as lost, even one that is placed again, and a terminating one does not
        count as left: in doubt the scenario is rejected (stricter than semantics R7.41).
        """
        placements, listed = self._session.ledger.placements, set(tasks)
        for pod_set in self._groups[victim].pod_sets:
            if not listed.isdisjoint(pod_set.tasks):
                left = [t for t in pod_set.tasks if t not in listed]
                if sum(placements[t].status.is_active_allocated for t in left) < pod_set.min_available:
                    return True
        return False
