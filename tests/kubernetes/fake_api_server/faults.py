"""Faults on demand: slow, rejected and interrupted calls."""

import threading
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from tests.kubernetes.fake_api_server.errors import ApiStatusError

NO_END: Final = 2**62
"""More bytes than any response has."""


class Fault(NamedTuple):
    """A fault and the requests that it applies to."""

    method: str
    """HTTP method; WATCH for watches, to which no other method applies."""
    path: str
    """A pattern as for file names, in which * matches slashes too."""
    delay: float = 0.0
    """Seconds before the request is handled."""
    refusal: ApiStatusError | None = None
    """Status to return, whether or not the request is applied."""
    is_done: bool = False
    """Whether a rejected request is applied nevertheless."""
    is_ignored: bool = False
    """Whether the connection is closed before the request is applied."""
    cut_after: int = NO_END
    """The connection is closed after this number of bytes of the response; the request is applied."""


class FaultQueue:
    """Faults that wait for their requests. The first matching one applies."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Fault]] = []
        self._changing = threading.Lock()

    def slow(self, method: str, path: str, seconds: float, times: int = 1) -> None:
        """Delay each of the next requests."""
        self._add(Fault(method, path, delay=seconds), times)

    def refuse(
        self, method: str, path: str, status: int, retry_after: int | None = None, times: int = 1
    ) -> None:
        """Return a status without applying the request."""
        details = {"retryAfterSeconds": retry_after} if retry_after else None
        refusal = ApiStatusError(status, "", "the test wants it so", details)
        self._add(Fault(method, path, refusal=refusal), times)

    def stale_lists(self, method: str, path: str, status: int, times: int = 1) -> None:
        """Apply the request and return a status."""
        self._add(Fault(method, path, refusal=ApiStatusError(status, "", "it is done"), is_done=True), times)

    def ignore(self, method: str, path: str, times: int = 1) -> None:
        """Close the connection without applying the request."""
        self._add(Fault(method, path, is_ignored=True), times)

    def cut(self, method: str, path: str, after: int = 0, times: int = 1) -> None:
        """Apply the request and close the connection after this number of bytes of the response."""
        self._add(Fault(method, path, cut_after=after), times)

    @property
    def left(self) -> int:
        """Number of faults that have not applied yet."""
        with self._changing:
            return sum(left for left, _ in self._waiting)

    def take(self, method: str, path: str) -> Fault:
        """Remove and return the fault for a request, or a fault without effect if there is none."""
        with self._changing:
            for i, (left, fault) in enumerate(self._waiting):
                if left and fault.method == method and fnmatchcase(path, fault.path):
                    self._waiting[i] = (left - 1, fault)
                    return fault
        return Fault(method, path)

    def _add(self, fault: Fault, times: int) -> None:
        with self._changing:
            self._waiting.append((times, fault))
