"""Errors of calls to an API server.

    ApiError
     ├── NotFound        404: the object is gone, or the server does not know its kind
     ├── Conflict        409, and 422 for another uid: a precondition failed, or another client was first
     ├── Expired         410: the resource version is too old; list again
     ├── TooManyRequests 429: retry later; for an eviction: a disruption budget blocks it
     ├── RequestRejected any other 4xx: a retry does not help
     ├── ApiServerError  5xx: the server failed; a retry may help
     └── Unreachable     no response: the call may have had its effect

Each error is about one call. Only patient reads were retried.
"""

from typing import ClassVar

from tenure.integration.ports import ClusterError


class ApiError(ClusterError):
    """A call failed. The message has the request and the response."""

    metric_label: ClassVar[str] = "failure"
    """Value of the metric labels `result` and `cause`."""


class NotFound(ApiError):
    """The object, or its kind, does not exist."""

    metric_label = "not_found"


class Conflict(ApiError):
    """The object is not in the state that the call requires."""

    metric_label = "conflict"


class Expired(ApiError):
    """The resource version is too old to continue from."""

    metric_label = "expired"


class TooManyRequests(ApiError):
    """Too many requests, or a disruption budget blocks the eviction for now."""

    metric_label = "too_many_requests"

    def __init__(self, message: str, retry_after: float | None) -> None:
        self.retry_after = retry_after
        """Seconds to wait, from the response. None: it has none."""
        super().__init__(message)


class RequestRejected(ApiError):
    """The server rejects the call, and a retry does not help."""

    metric_label = "refused"

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        """HTTP status; 403 means that a permission is missing."""
        super().__init__(message)


class ApiServerError(ApiError):
    """The server failed. The effect of the call is unknown."""

    metric_label = "broken"


class Unreachable(ApiError):
    """No response in time, or a broken connection. The effect of the call is unknown."""

    metric_label = "unreachable"
