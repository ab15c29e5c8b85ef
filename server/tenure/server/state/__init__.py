"""Kept states: pushed once, changed by deltas, referred to by many calls.

A state is an immutable snapshot with its decoded cluster. A full push or a delta makes a new one, which takes
the place of the old only when all of it is valid; who still reads the old one is not disturbed.
"""

from tenure.server.state.faults import Fault
from tenure.server.state.lineage import Lineage
from tenure.server.state.state import State, full_state
from tenure.server.state.store import Bounds, StateStore
from tenure.server.state.upload import PieceTooLarge, TooMuchUploading, Uploads

__all__ = [
    "Bounds",
    "Fault",
    "Lineage",
    "PieceTooLarge",
    "State",
    "StateStore",
    "TooMuchUploading",
    "Uploads",
    "full_state",
]
