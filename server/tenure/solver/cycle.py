"""One cycle: the whole of Tenure in one function. Read this first.

A cycle opens a session on a frozen cluster, runs the actions of the profile one after the other, and folds
what they committed into a decision. It reads no clock, no environment and no randomness: the same cluster
and profile give the same decision.
"""

from tenure.solver.actions.context import Context
from tenure.solver.doubts import doubts
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision
from tenure.solver.outcome import next_wake, outcomes, protections
from tenure.solver.recorder import fold
from tenure.solver.registry import ACTIONS, opened, plugins
from tenure.solver.remember import remember


def decide(cluster: Cluster, profile: Profile) -> Decision:
    """Decide who runs, who waits and who yields.

    The profile's actions and plugins must be known (`registry.check_profile` tells); a KeyError otherwise.
    """
    session = Session.open(cluster, opened(profile), plugins())
    context = Context.open(session)
    waiting = [group.index for group in cluster.pod_groups if context.gangs.has_pending(group.index)]
    for action in profile.actions:
        ACTIONS[action](context)
    remember(session)
    guarded = protections(session)
    verdicts = outcomes(session, waiting)
    return Decision(
        groups=fold(session),
        outcomes=verdicts,
        protections=guarded,
        queues=session.queue_status(),
        next_wake=next_wake(session, guarded, verdicts),
        doubts=doubts(cluster),
        counters=session.counters,
        nominations=tuple(session.nominations),
    )
