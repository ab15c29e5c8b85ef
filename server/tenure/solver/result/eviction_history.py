"""Upkeep of the eviction history: results that become known without a move, and records that expire.

Every record is visited once; pod groups without one are not.
"""

from typing import Final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.plugin_api.step import Step

NAME: Final = "evictionbackoff"
"""Action name of such patches."""


def update_eviction_history(context: CycleContext) -> None:
    """Patch records whose result is known; delete those past their retention. All actions have run."""
    session = context.session
    for _, memory in sorted(session.eviction_history.items()):
        known = session.settled(memory)
        if _age(session, known) > session.options.eviction_history_retention:
            session.add_standalone_patch(
                NAME, Patch(known.victim, PatchKind.DELETE_EVICTION_RECORD, known.preemptor)
            )
        elif known != memory:
            session.add_standalone_patch(
                NAME, Patch(known.victim, PatchKind.SET_EVICTION_RECORD, record=known)
            )


EVICTION_HISTORY: Final = Step("eviction_history", end=in_cycle(update_eviction_history))


def _age(session: Session, record: EvictionRecord) -> int:
    """Nanoseconds since the last event of the pair; negative if it is in the future.

    A record with a pending result may expire too: its preemptor is not pending any more, or its victim has
    been terminating for all that time.
    """
    latest = max(record.last_eviction, record.last_failure or record.last_eviction)
    return session.cluster.now - latest
