"""What the server and its solver processes tell each other, in this order.

    server                       process
    question     ──────────►
    STOP         ──────────►                 only when the answer is to come as soon as possible
                 ◄──────────     answer

The connection is a pipe to a process that this server started, so objects may travel pickled: plain ones, for
those of the solver cannot be when they are compiled.
"""

from typing import Final, NamedTuple

from tenure.server.telemetry.timeline import TimelineEntry
from tenure.wire.violations import FieldViolation

STOP: Final = None
"""In place of a question: stop searching, and answer with what is decided."""


class SolveRequest(NamedTuple):
    """A DecideRequest with its snapshot, as bytes."""

    request: bytes
    seconds: float
    """How long the caller waits."""
    is_detailed: bool = False
    """Whether somebody wants to see closely what happens in the cycle."""


class SolveResponse(NamedTuple):
    """A DecideResponse as bytes, and what happened on the way to it."""

    response: bytes
    entries: list[TimelineEntry]
    group_ids: dict[tuple[str, int], str]
    """See Timeline."""


class InvalidRequest(NamedTuple):
    """The question is invalid."""

    violations: list[FieldViolation]


class WorkerError(NamedTuple):
    """The solver raised something nobody foresaw: the traceback as text, for the log."""

    traceback: str


SolveResult = SolveResponse | InvalidRequest | WorkerError
