"""Open sessions as a cycle does, and capture the state that moves change."""

from dataclasses import replace
from typing import Any

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.chains import POINTS
from tenure.solver.framework.ledger import Ledger
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.open_context import search_components
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import BUILT_IN, default_profile, steps_of, with_required_plugins


def open_session(cluster: Cluster, options: CycleOptions | None = None) -> Session:
    """Open a session with the default profile, or with these options."""
    profile = replace(default_profile(), options=options or CycleOptions())
    return Session.open(cluster, with_required_plugins(profile), BUILT_IN)


def run_actions(session: Session) -> None:
    """Run all actions of the default profile, as `decide` does."""
    context = CycleContext.open(session, search_components(session))
    for step in steps_of(default_profile()):
        if step.run is not None:
            step.run(context)


def plugin_of(session: Session, name: str) -> Any:
    """Return the plugin with this name from the chains of the session."""
    chains = session.chains
    plugins = [plugin for chain in POINTS for plugin in getattr(chains, chain)]
    return next(plugin for plugin in plugins if chains.name(plugin) == name)


def ledger_state(ledger: Ledger) -> Any:
    """The complete state of the ledger, in a comparable form."""
    rooms = [
        (
            room.idle.vector(),
            room.releasing.vector(),
            {name: (gpu.used, gpu.allocated, gpu.releasing) for name, gpu in room.gpus.items()},
        )
        for room in ledger.node_infos
    ]
    counts = (list(ledger.active_allocated), list(ledger.active_used), list(ledger.allocated))
    return list(ledger.placements), rooms, counts


def session_state(session: Session) -> Any:
    """State of the ledger and usage of every queue."""
    used = [(status.queue, status.allocated_after) for status in session.chains.queue_status()]
    return ledger_state(session.ledger), used
