"""One cycle: the whole of Tenure in one function. Read this first.

A cycle opens a session on a frozen cluster, runs the actions of the profile one after the other, and folds
what they committed into a decision. It reads no clock, no environment and no randomness: the same cluster
and profile give the same decision, unless the caller stops it.
"""

from collections.abc import Callable
from contextlib import suppress

from tenure.solver.actions.context import Context
from tenure.solver.doubts import doubts
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop import Stopped, never
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision
from tenure.solver.outcome import give_up, next_wake, outcomes, protections
from tenure.solver.recorder import fold
from tenure.solver.registry import ACTIONS, opened, plugins
from tenure.solver.remember import remember


def decide(cluster: Cluster, profile: Profile, stop: Callable[[], bool] = never) -> Decision:
    """Decide who runs, who waits and who yields.

    The search asks `stop` every few steps. When it says yes, what was committed stays, and whoever was not
    decided on for good is told so: no verdict of infeasibility. Opening a session and folding the decision
    are not interrupted; they take time in proportion to the cluster.

    The profile's actions and plugins must be known (`registry.check_profile` tells); a KeyError otherwise.
    """
    return play(cluster, profile, stop)[1]


def play(cluster: Cluster, profile: Profile, stop: Callable[[], bool] = never) -> tuple[Context, Decision]:
    """The same, and the search as the cycle left it, for whoever asks why."""
    session = Session.open(cluster, opened(profile), plugins(), stop)
    context = Context.open(session)
    waiting = [group.index for group in cluster.pod_groups if context.gangs.has_pending(group.index)]
    for action in profile.actions:
        with suppress(Stopped):
            ACTIONS[action](context)
    if session.stop.is_set:
        give_up(session, waiting)
    remember(session)
    guarded = protections(session)
    verdicts = outcomes(session, waiting)
    decision = Decision(
        groups=fold(session),
        outcomes=verdicts,
        protections=guarded,
        queues=session.queue_status(),
        next_wake=next_wake(session, guarded, verdicts),
        doubts=doubts(cluster),
        counters=session.counters,
        nominations=tuple(session.nominations),
        stopped_early=session.stop.is_set,
    )
    return context, decision
