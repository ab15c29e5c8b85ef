"""What can go wrong with a call.

    TenureError
     ├── InvalidSnapshot     the question is malformed; `violations` names every field to mend
     ├── Unavailable         nobody answers, or the server is busy; try again
     ├── BadCredentials      certificates or tokens that were given cannot be used; nobody was asked
     ├── Untrusted           client and server do not trust each other's certificates
     ├── Unauthenticated     the server does not know the token, or wants one
     ├── StaleState          the server has not the state that is referred to, or its clock is ahead
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


class BadCredentials(TenureError):
    """A certificate, a key or a token that was given cannot be used. Names the file; shows no secret."""


class Untrusted(TenureError):
    """The TLS handshake failed: certificates do not fit what the other side trusts."""


class Unauthenticated(TenureError):
    """The server wants a token that it knows."""


class StaleState(TenureError):
    """The state that is referred to is not what the server has. `code` says how: "UNKNOWN_STATE", ...

    `resync_required` tells whether a new full snapshot helps.
    """

    def __init__(self, code: str, said: str) -> None:
        self.code = code
        super().__init__(said)

    @property
    def resync_required(self) -> bool:
        """Whether only a new full snapshot helps; a clock that went back is for the caller to mend."""
        return self.code in ("UNKNOWN_STATE", "VERSION_GAP")


class DeadlineExceeded(TenureError):
    """The server did not finish in time."""


class TooLarge(TenureError):
    """The snapshot is larger than the server accepts, or the answer larger than the client does."""


class ServerDefect(TenureError):
    """The server failed in a way that is not the caller's doing."""
