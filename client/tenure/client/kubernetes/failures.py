"""What a call to an API server can end with, other than an answer.

    ApiFailure
     ├── NotFound       404: the object is gone, or its kind is not known to the server
     ├── Conflict       409, and 422 for another uid: a precondition does not hold, or somebody was first
     ├── Expired        410: the version to go on from is forgotten; list again
     ├── TooManyRequests 429: later; of an eviction: a disruption budget is in the way
     ├── Refused        any other 4xx: asking again does not help
     ├── Broken         5xx: the server could not; asking again may help
     └── Unreachable    no answer: the call may have had its effect, or not

Every one of them is about one call; nothing was retried.
"""

from typing import ClassVar


class ApiFailure(Exception):
    """A call that did not succeed. The message says what was asked and what came back."""

    word: ClassVar[str] = "failure"
    """The kind of failure, for those who count."""


class NotFound(ApiFailure):
    """The object, or its kind, does not exist."""

    word = "not_found"


class Conflict(ApiFailure):
    """The object is not as the call supposed."""

    word = "conflict"


class Expired(ApiFailure):
    """The resource version is too old to go on from."""

    word = "expired"


class TooManyRequests(ApiFailure):
    """Asked too often, or a disruption budget forbids the eviction for now."""

    word = "too_many_requests"

    def __init__(self, said: str, retry_after: float | None) -> None:
        self.retry_after = retry_after
        """Seconds the server asks to wait; None when it does not say."""
        super().__init__(said)


class Refused(ApiFailure):
    """The server will not do this, however often it is asked."""

    word = "refused"

    def __init__(self, said: str, status: int) -> None:
        self.status = status
        """The HTTP status: 403 says that a permission is missing."""
        super().__init__(said)


class Broken(ApiFailure):
    """The server failed; what became of the call is not known for sure."""

    word = "broken"


class Unreachable(ApiFailure):
    """Nobody answered in time, or the connection broke; what became of the call is not known."""

    word = "unreachable"


class LeaseLost(Exception):
    """Nothing was sent: another adapter may have taken over."""

    word: ClassVar[str] = "not_sent"


class LedgerUnreadable(Exception):
    """What an adapter stored cannot be read. Says what to do."""
