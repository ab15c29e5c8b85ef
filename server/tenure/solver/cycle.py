"""One cycle: all of Tenure in one function. Read this first.

A cycle opens a session on a frozen cluster, fulfills reservations of in-flight groups, runs the actions of
the profile one after the other, and folds what was committed into the result. It reads no clock, no
environment and no randomness: the same cluster and profile give the same result, unless a stop comes.
"""

from collections.abc import Callable
from contextlib import suppress

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.notice_groups import leads
from tenure.solver.actions.protection_turns import settle_delays
from tenure.solver.capacity_reasons import check_capacity
from tenure.solver.eviction_history import update_eviction_history
from tenure.solver.folding import fold_decisions
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.in_flight_session import open_with_in_flight
from tenure.solver.instrumentation import build_instrumented_context, instrument_plugins
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.moves import moves_alone
from tenure.solver.outcomes import build_outcomes, collect_protections, mark_budget_exhausted, next_wake_time
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.queue_usage import next_usage
from tenure.solver.registry import BUILT_IN, with_required_plugins
from tenure.solver.reservations.first_turn import begin_cycle
from tenure.solver.reservations.keep import idle_reserved, plan_reservations
from tenure.solver.search.oracle import SearchParts
from tenure.solver.search.speedups import attach
from tenure.solver.snapshot_warnings import collect_warnings
from tenure.terms.cancellation import check_of, never


def decide(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = NULL_OBSERVER,
    warm_start: WarmStart | None = None,
    registry: Registry = BUILT_IN,
) -> CycleResult:
    """Decide on every pending pod group.

    The search checks `stop` every few steps. When it returns True, what is committed stays, and pod groups
    that were not evaluated completely are reported as such, never as infeasible. Session start and folding
    take time in proportion to the cluster, or to its changes with a warm start. If `stop` has a method
    `check`, it is called between their steps; what it raises ends the cycle without a result. `observer`
    receives events; neither observer nor warm start changes the result.

    Raises KeyError for unknown actions and plugins; `registry.check_profile` finds them before.
    """
    context, decision = run_cycle(cluster, profile, stop, observer, warm_start, registry)
    context.close()
    return decision


def run_cycle(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = NULL_OBSERVER,
    warm_start: WarmStart | None = None,
    registry: Registry = BUILT_IN,
    with_reasons: bool = True,
) -> tuple[CycleContext, CycleResult]:
    """The same, and the search as the cycle left it, for explanations; or the moves alone (`moves`)."""
    with ObservedPhase(observer, Phase.SESSION):
        context = open_with_in_flight(
            cluster,
            warm_start,
            lambda each, kept: _open_context(each, profile, stop, observer, kept, registry, with_reasons),
        )
    session = context.session
    session.guards.leads = leads(session.cluster, profile.options)
    begin_cycle(context, profile)
    waiting = sorted(session.phases.pending) if with_reasons else []
    for action in profile.actions:
        with suppress(CycleStopped), ObservedPhase(observer, Phase.ACTION, action):
            step = registry.actions[action]
            step.run(context, step)
    with ObservedPhase(observer, Phase.FOLD):
        stopped_early = session.stop.is_set
        session.reservations = plan_reservations(context, profile)
        if not with_reasons:
            return context, moves_alone(session, profile)
        settle_delays(context)
        session.queue_status = session.chains.queue_status()
        check_capacity(context, profile, waiting)
        return context, _result(session, profile, waiting, check_of(stop), stopped_early)


def _open_context(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool],
    observer: Observer,
    warm_start: WarmStart | None,
    registry: Registry,
    with_reasons: bool,
) -> CycleContext:
    session = Session.open(cluster, with_required_plugins(profile), registry, stop, warm_start)
    check_of(stop)()
    if not observer.is_detailed:
        return CycleContext.open(session, search_parts(session), with_reasons)
    instrument_plugins(session.chains, observer)
    return build_instrumented_context(session, search_parts(session), observer)


def search_parts(session: Session) -> SearchParts:
    """The plain parts of the search, with the speedups of the options. No other module knows both."""
    parts = SearchParts(session)
    attach(parts, session.options.speedups)
    return parts


def _result(
    session: Session, profile: Profile, waiting: list[int], check: Callable[[], None], stopped_early: bool
) -> CycleResult:
    """The result: what is committed, outcomes, protections and warnings."""
    check()
    if stopped_early:
        mark_budget_exhausted(session, waiting)
    update_eviction_history(session)
    check()
    guarded = collect_protections(session)
    check()
    verdicts = build_outcomes(session, waiting)
    usage = next_usage(session, profile, session.queue_status)
    check()
    return CycleResult(
        groups=fold_decisions(session),
        outcomes=verdicts,
        protections=guarded,
        queues=session.queue_status,
        next_wake_time=next_wake_time(session, guarded, verdicts),
        warnings=collect_warnings(session, profile),
        counters=session.counters,
        nominations=tuple(session.nominations),
        in_flight=session.in_flight,
        disruption_budgets=session.disruptions.status(),
        eviction_rates=session.disruptions.pacing.status(session.commits),
        stopped_early=stopped_early,
        without_expected_runtime=session.without_expected_runtime,
        queue_usage=usage,
        reservations=session.reservations,
        reserved_idle=idle_reserved(session),
    )
