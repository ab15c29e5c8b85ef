"""The answer of the service: a cycle decides, and its diagnosis says why pod groups wait."""

from collections.abc import Callable

from tenure.solver.cycle import decide
from tenure.solver.diagnosis.diagnose import diagnose
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.cancellation import check_of, never


def answer(
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool] = never,
    observer: Observer = NULL_OBSERVER,
    warm_start: WarmStart | None = None,
    registry: Registry = BUILT_IN,
) -> CycleResult:
    """Decide on every pending pod group, with a reason for each that waits.

    Arguments and errors are those of `decide`.
    """
    decided = decide(cluster, profile, stop, observer, warm_start, registry)
    with ObservedPhase(observer, Phase.DIAGNOSE):
        result = diagnose(decided, check_of(stop))
    decided.close()
    return result
