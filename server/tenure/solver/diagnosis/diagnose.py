"""Why pod groups wait: the reasons that a finished cycle adds to its decisions."""

from collections.abc import Callable

from tenure.solver.diagnosis.capacity_reasons import check_capacity
from tenure.solver.diagnosis.outcomes import build_outcomes, mark_budget_exhausted
from tenure.solver.diagnosis.protection_delays import settle_delays
from tenure.solver.diagnosis.snapshot_warnings import collect_warnings
from tenure.solver.model.decision import CycleResult
from tenure.solver.result.cycle_result import Decided
from tenure.solver.result.wake_times import next_wake_time
from tenure.terms.cancellation import no_check


def diagnose(decided: Decided, check: Callable[[], None] = no_check) -> CycleResult:
    """The result with outcomes, protections, nominations and warnings; its decisions are the same.

    The cycle tried every pod group: one that passes over known failures has no reasons. `check` is called
    between the parts, and raises when the call has ended.
    """
    context, session, result = decided.context, decided.context.session, decided.result
    assert not context.skips_known_failures
    waiting = sorted(session.phases.pending)
    settle_delays(context)
    check_capacity(context, waiting, result.queues)
    check()
    if not decided.is_complete:
        mark_budget_exhausted(session, waiting)
    outcomes = build_outcomes(session, waiting)
    check()
    until = [each.reason.until for each in outcomes]
    return CycleResult(
        groups=result.groups,
        outcomes=outcomes,
        protections=decided.protections,
        queues=result.queues,
        next_wake_time=next_wake_time(session, decided.protections, until),
        warnings=collect_warnings(session),
        counters=result.counters,
        nominations=tuple(session.nominations),
        in_flight=result.in_flight,
        stopped_early=result.stopped_early or session.stop.is_set,
        shared_time=result.shared_time,
        disruption_budgets=session.disruptions.status(),
        eviction_rates=session.disruptions.pacing.status(session.commits),
        without_expected_runtime=result.without_expected_runtime,
        carried=result.carried,
        planned_starts=result.planned_starts,
        reserved_idle=result.reserved_idle,
    )
