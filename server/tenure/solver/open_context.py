"""Opens the session of a cycle, and the search on it with the speedups of the options."""

from collections.abc import Callable

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.cycle_start import ContextFactory
from tenure.solver.framework.observer import NULL_OBSERVER, Observer
from tenure.solver.framework.session import Session
from tenure.solver.instrumentation import build_instrumented_context, instrument_plugins
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import with_required_plugins
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedups import attach
from tenure.terms.cancellation import check_of


def context_factory(
    profile: Profile,
    registry: Registry,
    stop: Callable[[], bool],
    observer: Observer = NULL_OBSERVER,
    commit_limit: int = -1,
) -> ContextFactory:
    """What opens sessions of a cycle; with a limit, the cycle ends before the commit of that number."""
    required = with_required_plugins(profile)
    wrap = instrument_plugins(observer) if observer.is_detailed else None

    def open_context(cluster: Cluster, warm_start: WarmStart | None) -> CycleContext:
        session = Session.open(cluster, required, registry, stop, warm_start, wrap)
        session.commit_limit = commit_limit
        check_of(stop)()
        components = search_components(session)
        if wrap is None:
            return CycleContext.open(session, components)
        return build_instrumented_context(session, components, observer)

    return open_context


def search_components(session: Session) -> SearchComponents:
    """The plain components of the search, with the speedups of the options. No other module knows both."""
    components = SearchComponents(session)
    attach(components, session.options.speedups)
    return components
