"""A finished cycle whose state can be made again as it was before any commit."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.cycle_start import CycleStart
from tenure.solver.cycle import begin_steps, decide, run_steps
from tenure.solver.diagnosis.diagnose import diagnose
from tenure.solver.framework.stop_signal import CommitLimitReached, CycleStopped
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import PodGroupOutcome
from tenure.solver.open_context import context_factory
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, steps_of
from tenure.terms.cancellation import check_of, never


@final
class CycleReplay:
    """A cycle, its result, and in `end` the search context at its end."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        stop: Callable[[], bool] = never,
        registry: Registry = BUILT_IN,
    ) -> None:
        """Decide and diagnose, and keep what the answer comes from."""
        self._snapshot, self._stop = cluster, stop
        self.profile: Final = profile
        self.registry: Final = registry
        decided = decide(cluster, profile, stop, registry=registry)
        self.end: Final = decided.context
        self.result: Final = diagnose(decided, check_of(stop))
        self.cluster: Final = decided.context.session.cluster
        """With the effects of in-flight groups: evicted pods are terminating, bound pods are bound."""
        self._latest: tuple[int, CycleContext] | None = None
        self._first: CycleContext | None = None

    def outcome(self, pod_group: int) -> PodGroupOutcome | None:
        """Outcome of a pod group with tasks to schedule; None if it had none."""
        return next((each for each in self.result.outcomes if each.pod_group == pod_group), None)

    def searches(self) -> list[Action]:
        """Actions of the cycle that searched for victims of pending pod groups, in their order."""
        return self.end.session.searches

    def before_actions(self) -> CycleContext:
        """Search context before the first action: in-flight groups, notices and planned starts are settled.

        Its users leave no trace on it. Raises CycleStopped if `stop` comes first.
        """
        if self._first is None:
            factory = context_factory(self.profile, self.registry, self._stop)
            start = CycleStart(self._snapshot, None, factory, self.registry.guarded.fair_share_names)
            self._first = _unless_stopped(begin_steps(start, steps_of(self.profile, self.registry)))
        return self._first

    def before(self, commit: int) -> CycleContext:
        """Search context right before a commit, made by the same steps on the same snapshot.

        The latest one is kept: its users leave no trace on it. Raises CycleStopped if `stop` comes
        first.
        """
        if self._latest is None or self._latest[0] != commit:
            self._latest = commit, self._run_until(commit)
        return self._latest[1]

    def _run_until(self, commit: int) -> CycleContext:
        factory = context_factory(self.profile, self.registry, self._stop, commit_limit=commit)
        start = CycleStart(self._snapshot, None, factory, self.registry.guarded.fair_share_names)
        with suppress(CommitLimitReached):
            run_steps(start, steps_of(self.profile, self.registry))
        start.context.session.commit_limit = -1
        return _unless_stopped(start.context)

    def before_search(self, action: Action, pod_group: int) -> CycleContext:
        """The search in which an action found a solution for a pod group.

        If the action did not, the context at the end of the action, since later actions may have freed
        capacity.
        """
        commits, actions = self.end.session.commits, self.profile.actions
        later = actions[actions.index(action.name) + 1 :]
        for number, commit in enumerate(commits):
            is_its_own = commit.action is action and commit.beneficiary == pod_group
            if is_its_own or commit.action.name in later:
                return self.before(number)
        return self.end


def _unless_stopped(context: CycleContext) -> CycleContext:
    if context.session.stop.is_set:
        raise CycleStopped
    return context
