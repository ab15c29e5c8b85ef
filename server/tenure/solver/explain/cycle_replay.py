"""A completed cycle whose state can be restored at any commit."""

from collections.abc import Callable
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.cycle import run_cycle, search_parts
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, PodGroupOutcome
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, with_required_plugins
from tenure.terms.cancellation import never


class CycleReplay(NamedTuple):
    """A cycle, its result, and in `end` the search context at its end.

    The cluster includes the effects of in-flight groups: evicted pods are terminating, bound pods are bound.
    """

    cluster: Cluster
    profile: Profile
    registry: Registry
    end: CycleContext
    result: CycleResult

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        profile: Profile,
        stop: Callable[[], bool] = never,
        registry: Registry = BUILT_IN,
    ) -> "CycleReplay":
        """Decide, and keep what the answer comes from."""
        context, decision = run_cycle(cluster, profile, stop, registry=registry)
        return cls(context.session.cluster, profile, registry, context, decision)

    def outcome(self, pod_group: int) -> PodGroupOutcome | None:
        """Outcome of a pod group with tasks to schedule; None if it had none."""
        return next((each for each in self.result.outcomes if each.pod_group == pod_group), None)

    def searches(self) -> list[Action]:
        """Actions of the cycle that searched for victims of pending pod groups, in their order."""
        return self.end.session.searches

    def before(self, commit: int) -> CycleContext:
        """Search context at the time of a commit.

        A new session repeats all earlier commits move by move, with the patches they wrote, since guards read
        them within the cycle.
        """
        session = Session.open(self.cluster, with_required_plugins(self.profile), self.registry)
        session.reserved_tasks = self.end.session.reserved_tasks
        session.guards.leads = self.end.session.guards.leads
        for index, victims in self.end.session.notices.withdrawn:
            group = self.cluster.in_flight[index]
            session.disruptions.pacing.give_back(group.action, group.beneficiary, victims)
        for number, earlier in enumerate(self.end.session.commits[:commit]):
            for move in earlier.moves:
                session.ledger.apply(move.task, move.before, move.after)
            session.commits.append(earlier)
            self._apply_history(session, number)
        return CycleContext.open(session, search_parts(session))

    def before_search(self, action: Action, pod_group: int) -> CycleContext:
        """The search in which an action found a solution for a pod group.

        If the action did not, the context at the end of the action, since later actions may have freed
        capacity.
        """
        journal, actions = self.end.session.commits, self.profile.actions
        later = actions[actions.index(action.name) + 1 :]
        for number, commit in enumerate(journal):
            is_its_own = commit.action is action and commit.beneficiary == pod_group
            if is_its_own or commit.action.name in later:
                return self.before(number)
        return self.end

    def _apply_history(self, session: Session, commit: int) -> None:
        for number, patch in self.end.session.patches:
            if number == commit and patch.record is not None:
                session.eviction_history[patch.record.victim, patch.record.preemptor] = patch.record
