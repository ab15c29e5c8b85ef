"""The result of a cycle for a caller that reads its decisions alone."""

from collections.abc import Callable
from typing import NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.model.caller_state import POSTPONED
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.disruption_limits import EVICTION_RATES
from tenure.solver.model.verdict import Protection
from tenure.solver.result.folding import fold_decisions
from tenure.solver.result.protections import collect_protections
from tenure.solver.result.wake_times import find_reason_ends, next_wake_time
from tenure.terms.cancellation import no_check


class Decided(NamedTuple):
    """A finished cycle: its result, and its session, until it is closed."""

    context: CycleContext
    result: CycleResult
    """Without outcomes, protections, nominations, warnings and what is left of budgets and rates."""
    protections: tuple[Protection, ...]
    """Of every pod group that keeps running, by uid."""
    is_complete: bool
    """Whether all pod groups had their chance; if not, those that wait have no final reason."""

    def close(self) -> CycleResult:
        """Release the session, and return the result."""
        self.context.close()
        return self.result


def build_result(context: CycleContext, is_complete: bool, check: Callable[[], None] = no_check) -> Decided:
    """Fold what was committed. Counters go on counting if the cycle is diagnosed.

    A complete cycle was stopped early, too, if the time made a difference: it cannot be reproduced.

    `check` is called between the parts, and raises when the call has ended.
    """
    session = context.session
    protections = collect_protections(session)
    check()
    queues, rates = session.chains.queue_status(), session.disruptions.pacing.status(session.commits)
    session.carry(EVICTION_RATES, [rate.state(session.cluster.now) for rate in rates if rate.is_changed])
    if (postponed := context.slices.postponed_rows()) is not None:
        session.carry_all(POSTPONED, postponed)
    changes, next_change_time = session.chains.carried_changes(queues, bool(session.phases.pending))
    session.carried.extend(changes)
    if next_change_time is not None:
        session.wake_times.append(next_change_time)
    check()
    result = CycleResult(
        groups=fold_decisions(session),
        outcomes=(),
        protections=(),
        queues=queues,
        next_wake_time=next_wake_time(session, protections, find_reason_ends(session)),
        warnings=(),
        counters=session.counters,
        nominations=(),
        in_flight=session.in_flight,
        stopped_early=not is_complete or session.stop.has_mattered,
        shared_time=session.stop.has_mattered,
        without_expected_runtime=session.without_expected_runtime,
        carried=tuple(session.carried),
        planned_starts=session.planned_starts,
        reserved_idle=session.reserved_idle,
    )
    return Decided(context, result, protections, is_complete)
