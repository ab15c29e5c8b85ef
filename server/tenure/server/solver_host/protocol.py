"""Messages between the server and its solver processes, in this order.

    server                       process
    request      ──────────►
    STOP         ──────────►                 only to stop the search early
                 ◄──────────     response

The connection is a pipe to a process that this server started, so pickled objects are safe. They are plain
objects, since compiled objects of the solver cannot be pickled.
"""

from typing import Final, NamedTuple

from tenure.codec.encoded_response import EncodedResponse
from tenure.server.telemetry.timeline import TimelineEntry
from tenure.wire.violations import FieldViolation

STOP: Final = None
"""Stop signal: stop searching and respond with the decisions made so far."""


class SolveRequest(NamedTuple):
    """A DecideRequest with its snapshot, serialized."""

    request: bytes
    seconds: float
    """Time until the caller's deadline."""
    is_detailed: bool = False
    """Whether to record detailed events of the cycle."""


class SolveResponse(NamedTuple):
    """A response, and the events of its cycle."""

    response: EncodedResponse
    entries: list[TimelineEntry]
    group_ids: dict[tuple[str, int], str]
    """IDs of decision groups by action and beneficiary."""


class InvalidRequest(NamedTuple):
    """The request is invalid."""

    violations: list[FieldViolation]


class CallOver(NamedTuple):
    """The caller's deadline passed before the response was ready."""


class WorkerError(NamedTuple):
    """The solver raised an unexpected exception: its traceback as text, for the log."""

    traceback: str
    culprit: str
    """The plugin or action that raised; empty: none did."""


SolveResult = SolveResponse | InvalidRequest | CallOver | WorkerError
