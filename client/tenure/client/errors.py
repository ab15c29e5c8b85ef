"""What can go wrong with a call.

    TenureError
     ├── InvalidSnapshot     the question is malformed; `violations` names every field to mend
     ├── Unavailable         nobody answers, or the server is busy; try again
     ├── DeadlineExceeded    the server is there, but did not answer in time
     ├── TooLarge            a message is larger than the server or the client accepts
     └── ServerDefect        everything else: report it

Nothing was decided when one of them is raised, and asking again is harmless.
"""

from collections.abc import Iterable
from typing import NamedTuple


class FieldViolation(NamedTuple):
    """One violating field: its path in the snapshot ("queues[12].parent") and what to mend."""

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class TenureError(Exception):
    """A call that gave no answer. The message says what to do."""


class InvalidSnapshot(TenureError):
    """The server refuses the question. `violations` are in the order of the message."""

    def __init__(self, summary: str, violations: Iterable[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n  ".join((summary, *map(str, self.violations))))


class Unavailable(TenureError):
    """No server answers at the address, it is draining, or too many calls are waiting for it."""


class DeadlineExceeded(TenureError):
    """The server did not finish in time."""


class TooLarge(TenureError):
    """The snapshot is larger than the server accepts, or the answer larger than the client does."""


class ServerDefect(TenureError):
    """The server failed in a way that is not the caller's doing."""
