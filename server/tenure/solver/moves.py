"""The result of a cycle for a caller that reads its moves alone, such as a simulation.

Why pod groups wait is not looked for, which takes most of the time of a cycle in which many do. Decision
groups, queues and the next wake time are those of a cycle with reasons; counters leave out the work for them.
Where an action used up its budget, wake times of pod groups that it did not reach are left out too.
"""

from tenure.solver.eviction_history import update_eviction_history
from tenure.solver.folding import fold_decisions
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import CycleResult
from tenure.solver.outcomes import build_outcomes, collect_protections, next_wake_time
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.queue_usage import next_usage


def moves_alone(session: Session, profile: Profile) -> CycleResult:
    """The result without outcomes, protections, nominations and warnings.

    The time at which a protection ends is that of a running pod group, so no reason has an earlier one but
    the rejections until a time that the session has.
    """
    update_eviction_history(session)
    delayed = [each for each, why in session.rejections.items() if why.until is not None]
    queues = session.chains.queue_status()
    usage = next_usage(session, profile, queues)
    wake_time = next_wake_time(session, collect_protections(session), build_outcomes(session, delayed))
    return CycleResult(
        groups=fold_decisions(session),
        outcomes=(),
        protections=(),
        queues=queues,
        next_wake_time=wake_time,
        warnings=(),
        counters=session.counters,
        nominations=(),
        in_flight=session.in_flight,
        stopped_early=False,
        without_expected_runtime=session.without_expected_runtime,
        queue_usage=usage,
        reservations=session.reservations,
    )
