"""Upkeep of what is remembered of evictions: what becomes known without any move, and what is forgotten.

Every memory is looked at once, pod groups without one not at all.
"""

from typing import Final

from tenure.solver.framework.aftermath import settled
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.memory import EvictionMemory

NAME: Final = "evictionmemory"
"""What such patches are listed under."""


def remember(session: Session) -> None:
    """Write down which evictions were of use and which came to nothing; forget what is long past.

    To be called when all actions have run.
    """
    for _, memory in sorted(session.memory.items()):
        known = settled(session, memory)
        if _age(session, known) > session.options.eviction_memory_retention:
            session.patch_alone(NAME, Patch(known.victim, PatchKind.FORGET_PREEMPTOR, known.preemptor))
        elif known != memory:
            session.patch_alone(NAME, Patch(known.victim, PatchKind.REMEMBER, memory=known))


def _age(session: Session, memory: EvictionMemory) -> int:
    """Nanoseconds since anything happened to the pair; negative when that is yet to come.

    One that is still open may be forgotten too: its preemptor asks no more, or its victim has been
    terminating for all that time.
    """
    latest = max(memory.last_eviction, memory.last_failure or memory.last_eviction)
    return session.cluster.now - latest
