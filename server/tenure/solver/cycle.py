"""One cycle: all of Tenure in one function. Read this first.

for every step of the profile: begin; the first one that needs the session opens it
for every step: run; actions that a deadline interrupted go on when all had their slice
for every step: end
fold what was committed into decisions

In-flight groups, notices, reservations and actions are steps (`plugin_api.step`). A cycle reads no clock, no
environment and no randomness: the same cluster and profile give the same result, unless a stop comes. Why pod
groups wait is found afterwards, by `diagnosis`.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.cycle_start import CycleStart
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.cluster import Cluster
from tenure.solver.open_context import context_factory
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugin_api.step import Step
from tenure.solver.registry import BUILT_IN, steps_of
from tenure.solver.result.cycle_result import Decided, build_result
from tenure.terms.cancellation import check_of, never


def decide(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = NULL_OBSERVER,
    warm_start: WarmStart | None = None,
    registry: Registry = BUILT_IN,
) -> Decided:
    """Decide on every pending pod group. The caller closes what is returned.

    The search checks `stop` every few steps. When it returns True, what is committed stays, and the result
    says so. Session start and folding take time in proportion to the cluster, or to its changes with a warm
    start. If `stop` has a method `check`, it is called between their steps; what it raises ends the cycle
    without a result. `observer` receives events; neither observer nor warm start changes the result.

    Raises KeyError for unknown actions and plugins; `registry.check_profile` finds them before.
    """
    steps, check = steps_of(profile, registry), check_of(stop)
    factory = context_factory(profile, registry, stop, observer)
    start = CycleStart(cluster, warm_start, factory, registry.guarded.fair_share_names)
    run_steps(start, steps, observer)
    with ObservedPhase(observer, Phase.FOLD):
        is_complete = not start.context.session.stop.is_set
        for step in steps:
            check()
            if step.end is not None:
                with suppress(CycleStopped):
                    step.end(start.context)
        return build_result(start.context, is_complete, check)


def run_steps(start: CycleStart, steps: Sequence[Step], observer: Observer = NULL_OBSERVER) -> None:
    """Begin and run the steps: all that a cycle commits. Actions whose slice was over go on last."""
    context = begin_steps(start, steps, observer)
    runs = [(step.name, step.run) for step in steps if step.run is not None]
    for place, (name, run) in enumerate(runs):
        context.slices.waiting = len(runs) - place
        with suppress(CycleStopped), ObservedPhase(observer, Phase.ACTION, name):
            run(context)
    with suppress(CycleStopped):
        context.slices.finish(observer)


def begin_steps(start: CycleStart, steps: Sequence[Step], observer: Observer = NULL_OBSERVER) -> CycleContext:
    """Begin the steps: all that comes before the first action.

    Raises CycleStopped if the session cannot be opened in time: without in-flight groups nothing is decided.
    """
    with ObservedPhase(observer, Phase.SESSION):
        for step in steps:
            try:
                if step.begin is not None:
                    step.begin(start)
            except CycleStopped:
                if not start.is_open:
                    raise
        return start.context
