"""Pushed states: pushed once, changed by deltas, referred to by many calls.

A state is an immutable snapshot with its decoded cluster. A full push or a delta creates a new one, which
replaces the old one only when it is completely valid; readers of the old one are not affected.
"""

from tenure.server.state.errors import StateError
from tenure.server.state.lineage import Lineage
from tenure.server.state.set_aside import accept, long_texts
from tenure.server.state.state import State
from tenure.server.state.store import StateStore, StoreLimits
from tenure.server.state.upload import ChunkTooLarge, UploadMemory
from tenure.server.state.versions import full_state

__all__ = [
    "ChunkTooLarge",
    "Lineage",
    "State",
    "StateError",
    "StateStore",
    "StoreLimits",
    "UploadMemory",
    "accept",
    "full_state",
    "long_texts",
]
