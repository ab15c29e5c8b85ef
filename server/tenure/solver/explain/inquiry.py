"""One cycle that was played to its end, and its state at any moment of it."""

from collections.abc import Callable
from typing import NamedTuple

from tenure.solver.actions.context import Context
from tenure.solver.cycle import play
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop import never
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision, Outcome
from tenure.solver.registry import opened, plugins


class Inquiry(NamedTuple):
    """What was asked about, and what became of it. `end` is the search as the cycle left it.

    In the cluster groups in flight are taken up: whom they evict terminates, whom they bind is bound.
    """

    cluster: Cluster
    profile: Profile
    end: Context
    decision: Decision

    @classmethod
    def of(cls, cluster: Cluster, profile: Profile, stop: Callable[[], bool] = never) -> "Inquiry":
        """Decide, and keep what the answer comes from."""
        context, decision = play(cluster, profile, stop)
        return cls(context.session.cluster, profile, context, decision)

    def outcome(self, pod_group: int) -> Outcome | None:
        """What became of a pod group that had tasks to schedule; None: it had none."""
        return next((each for each in self.decision.outcomes if each.pod_group == pod_group), None)

    def before(self, commit: int) -> Context:
        """The search as it was when this commit of the journal was searched for.

        A new session in which all earlier commits are made again, move by move. What they wrote down counts
        as it did then, for guards ask for it within the cycle.
        """
        session = Session.open(self.cluster, opened(self.profile), plugins())
        session.pledged = self.end.session.pledged
        for number, earlier in enumerate(self.end.session.journal[:commit]):
            for move in earlier.moves:
                session.ledger.apply(move.task, move.before, move.after)
            session.journal.append(earlier)
            self._remember(session, number)
        return Context.open(session)

    def before_search(self, action: str, pod_group: int) -> Context:
        """The search in which an action found room for a pod group.

        If it found none, the search as the action left it: later actions may have made room since.
        """
        journal, actions = self.end.session.journal, self.profile.actions
        later = actions[actions.index(action) + 1 :]
        for number, commit in enumerate(journal):
            if (commit.action, commit.beneficiary) == (action, pod_group) or commit.action in later:
                return self.before(number)
        return self.end

    def _remember(self, session: Session, commit: int) -> None:
        for number, patch in self.end.session.patches:
            if number == commit and patch.memory is not None:
                session.memory[patch.memory.victim, patch.memory.preemptor] = patch.memory
