"""One cycle: the whole of Tenure in one function. Read this first.

A cycle opens a session on a frozen cluster, gives those that were promised room what they were promised,
runs the actions of the profile one after the other, and folds what was committed into a decision. It reads
no clock, no environment and no randomness: the same cluster and profile give the same decision, unless the
caller stops it.
"""

from collections.abc import Callable
from contextlib import suppress

from tenure.solver.actions.context import Context
from tenure.solver.doubts import doubts
from tenure.solver.framework.observer import SILENCE, Observer, Part, Watched
from tenure.solver.framework.opening import Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop import Stopped, never
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision
from tenure.solver.outcome import give_up, next_wake, outcomes, protections
from tenure.solver.recorder import fold
from tenure.solver.registry import ACTIONS, opened, plugins
from tenure.solver.remember import remember
from tenure.solver.resume import resume
from tenure.solver.watching import watch_plugins, watched_context


def decide(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = SILENCE,
    opening: Opening | None = None,
) -> Decision:
    """Decide who runs, who waits and who yields.

    The search asks `stop` every few steps. When it says yes, what was committed stays, and whoever was not
    decided on for good is told so: no verdict of infeasibility. Opening a session and folding the decision
    are not interrupted; they take time in proportion to the cluster, or to what changed in it, if `opening`
    has what was found out about it before. `observer` is told what happens; the decision is the same whoever
    watches, and whatever was kept.

    The profile's actions and plugins must be known (`registry.check_profile` tells); a KeyError otherwise.
    """
    context, decision = play(cluster, profile, stop, observer, opening)
    context.close()
    return decision


def play(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = SILENCE,
    opening: Opening | None = None,
) -> tuple[Context, Decision]:
    """The same, and the search as the cycle left it, for whoever asks why."""
    with Watched(observer, Part.SESSION):
        context = resume(
            cluster, opening, lambda taken_up, kept: _opened(taken_up, profile, stop, observer, kept)
        )
    session = context.session
    waiting = sorted(session.standing.waiting)
    for action in profile.actions:
        with suppress(Stopped), Watched(observer, Part.ACTION, action):
            ACTIONS[action](context)
    with Watched(observer, Part.FOLD):
        return context, _decision(session, waiting)


def _opened(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool],
    observer: Observer,
    opening: Opening | None,
) -> Context:
    session = Session.open(cluster, opened(profile), plugins(), stop, opening)
    if not observer.is_close:
        return Context.open(session)
    watch_plugins(session.chains, observer)
    return watched_context(session, observer)


def _decision(session: Session, waiting: list[int]) -> Decision:
    """What is committed, and the verdicts on everybody."""
    if session.stop.is_set:
        give_up(session, waiting)
    remember(session)
    guarded = protections(session)
    verdicts = outcomes(session, waiting)
    return Decision(
        groups=fold(session),
        outcomes=verdicts,
        protections=guarded,
        queues=session.queue_status(),
        next_wake=next_wake(session, guarded, verdicts),
        doubts=doubts(session),
        counters=session.counters,
        nominations=tuple(session.nominations),
        in_flight=session.in_flight,
        stopped_early=session.stop.is_set,
    )
