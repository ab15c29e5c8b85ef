"""Upkeep of what is remembered of evictions: what becomes known without any move, and what is forgotten.

Every memory is looked at once, pod groups without one not at all.
"""

from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind

NAME: Final = "evictionbackoff"
"""What such patches are listed under."""


def update_eviction_history(session: Session) -> None:
    """Write down which evictions were of use and which came to nothing; forget what is long past.

    To be called when all actions have run.
    """
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


def _age(session: Session, record: EvictionRecord) -> int:
    """Nanoseconds since anything happened to the pair; negative when that is yet to come.

    One that is still open may be forgotten too: its preemptor asks no more, or its victim has been
    terminating for all that time.
    """
    latest = max(record.last_eviction, record.last_failure or record.last_eviction)
    return session.cluster.now - latest
