"""What a call to an API server can end with, other than an answer.

    ApiError
     ├── NotFound        404: the object is gone, or its kind is not known to the server
     ├── Conflict        409, and 422 for another uid: a precondition does not hold, or somebody was first
     ├── Expired         410: the version to go on from is forgotten; list again
     ├── TooManyRequests 429: later; of an eviction: a disruption budget is in the way
     ├── RequestRejected any other 4xx: asking again does not help
     ├── ApiServerError  5xx: the server could not; asking again may help
     └── Unreachable     no answer: the call may have had its effect, or not

Every one of them is about one call; nothing was retried.
"""

from typing import ClassVar

from tenure.integration.ports import ClusterError


class ApiError(ClusterError):
    """A call that did not succeed. The message says what was asked and what came back."""

    metric_label: ClassVar[str] = "failure"
    """The kind of failure, for those who count."""


class NotFound(ApiError):
    """The object, or its kind, does not exist."""

    metric_label = "not_found"


class Conflict(ApiError):
    """The object is not as the call supposed."""

    metric_label = "conflict"


class Expired(ApiError):
    """The resource version is too old to go on from."""

    metric_label = "expired"


class TooManyRequests(ApiError):
    """Asked too often, or a disruption budget forbids the eviction for now."""

    metric_label = "too_many_requests"

    def __init__(self, message: str, retry_after: float | None) -> None:
        self.retry_after = retry_after
        """Seconds the server asks to wait; None when it does not say."""
        super().__init__(message)


class RequestRejected(ApiError):
    """The server will not do this, however often it is asked."""

    metric_label = "refused"

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        """The HTTP status: 403 says that a permission is missing."""
        super().__init__(message)


class ApiServerError(ApiError):
    """The server failed; what became of the call is not known for sure."""

    metric_label = "broken"


class Unreachable(ApiError):
    """Nobody answered in time, or the connection broke; what became of the call is not known."""

    metric_label = "unreachable"
