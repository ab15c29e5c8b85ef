"""The loop of the evicting actions: pending pod groups in queue order, each searched for in its turn.

while a pod group is left, and time and budget
    if a cheap reason rules a search out, say so; else search for victims, and commit what is found
    if its queue or the action used up its share of the time, try it again later
"""

from functools import partial
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.actions.obstacles import Obstacles
from tenure.solver.actions.time_slices import QueueSlices
from tenure.solver.actions.victim_rules import find_endings
from tenure.solver.plugin_api.action import Action
from tenure.solver.search.search import BUDGET_EXHAUSTED, SLICE_OVER, Budget

_MAX_FAILURES: Final = 64
"""Failed searches of a queue after which all other queues go first (semantics R5.75)."""


class EvictionLoop:
    """The work of an evicting action, in slices."""

    def __init__(self, context: CycleContext, action: Action) -> None:
        self._context = context
        self._session = context.session
        self._searches = EvictionAction(context, action)
        self._budget = Budget.of(context.session.options, context.session.stop)
        are_alike = action.starts_by_request and not context.session.disruptions.hold_for_a_time(action)
        self._failures = context.failures(are_alike)
        self._preemptors = QueueSlices(
            context.session, context.gangs, _MAX_FAILURES, self._budget.is_half_used
        )

    def go_on(self, end: int | None) -> bool:
        """Search for pod groups until this time is left, or the budget of the action is used up.

        Returns whether it is done.
        """
        obstacles = Obstacles(self._session, self._searches, partial(find_endings, self._searches.rules))
        pending = self._context.pending(self._searches.admits, self._failures)
        self._preemptors.begin(pending, end, self._context.slices)
        is_done = self._search_all(obstacles)
        self._context.obstacles.append(obstacles)
        return is_done

    def _search_all(self, obstacles: Obstacles) -> bool:
        """Search for the pod groups of a slice; return whether the action is done."""
        preemptors, searches = self._preemptors, self._searches
        while (pod_group := preemptors.pop()) is not None:
            self._session.stop.check()
            tasks = self._context.gangs.tasks_to_allocate(pod_group)
            if self._failures.covers(pod_group) or not tasks or not self._context.gangs.is_ready(pod_group):
                continue
            if (rejection := searches.rejection(pod_group, tasks)) is not None:
                self._failures.add(pod_group)
                obstacles.reject_unsearched(pod_group, rejection, searches.rules.has_victims)
            elif (rejection := searches.find_victims(pod_group, tasks, self._budget)) is SLICE_OVER:
                preemptors.put_back(self._context.entry(pod_group))
                if preemptors.is_over:
                    return False
            elif rejection is not None:
                preemptors.add_failure(pod_group)
                obstacles.reject(pod_group, rejection)
            if self._budget.is_over:
                if rejection is BUDGET_EXHAUSTED:
                    preemptors.add_interrupted(pod_group)
                self._give_up(preemptors)
                break
        return True

    def _give_up(self, preemptors: QueueSlices) -> None:
        """Report that the search did not reach the remaining pod groups: they are not infeasible."""
        if not self._context.skips_known_failures:
            for pod_group in sorted(preemptors.take_rest()):
                self._session.reject(pod_group, BUDGET_EXHAUSTED)


def evict_for_pending(context: CycleContext, action: Action) -> None:
    """Search for victims for every pending pod group, unless the options switch the action off."""
    context.session.searches.append(action)
    if action.max_victims(context.session.options) and context.pod_groups.has_pending():
        context.slices.run(action.name, EvictionLoop(context, action))
