"""What goes wrong on demand: slow, refused and broken calls."""

import threading
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from tests.kubernetes.fake_api_server.errors import ApiStatusError

NO_END: Final = 2**62
"""More bytes than any answer has."""


class Fault(NamedTuple):
    """What happens to the requests that it is for."""

    method: str
    """Of HTTP; WATCH for watches, which no other is for."""
    path: str
    """A pattern, as of file names, in which * stands for slashes, too."""
    delay: float = 0.0
    """Seconds before anything happens."""
    refusal: ApiStatusError | None = None
    """The answer, whatever is done."""
    is_done: bool = False
    """Whether a request that is refused is done all the same."""
    is_ignored: bool = False
    """Whether the connection breaks before anything is done."""
    cut_after: int = NO_END
    """The connection breaks after so many bytes of the answer; everything is done."""


class FaultQueue:
    """Faults that wait for their requests. Of several the first that was added comes first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Fault]] = []
        self._changing = threading.Lock()

    def slow(self, method: str, path: str, seconds: float, times: int = 1) -> None:
        """Take so long for each of the next requests."""
        self._add(Fault(method, path, delay=seconds), times)

    def refuse(
        self, method: str, path: str, status: int, retry_after: int | None = None, times: int = 1
    ) -> None:
        """Answer with a status, and do nothing."""
        details = {"retryAfterSeconds": retry_after} if retry_after else None
        refusal = ApiStatusError(status, "", "the test wants it so", details)
        self._add(Fault(method, path, refusal=refusal), times)

    def stale_lists(self, method: str, path: str, status: int, times: int = 1) -> None:
        """Answer with a status, but do what is asked."""
        self._add(Fault(method, path, refusal=ApiStatusError(status, "", "it is done"), is_done=True), times)

    def ignore(self, method: str, path: str, times: int = 1) -> None:
        """Do nothing and break the connection."""
        self._add(Fault(method, path, is_ignored=True), times)

    def cut(self, method: str, path: str, after: int = 0, times: int = 1) -> None:
        """Do what is asked and break the connection after so many bytes of the answer."""
        self._add(Fault(method, path, cut_after=after), times)

    @property
    def left(self) -> int:
        """How many requests are still to meet one."""
        with self._changing:
            return sum(left for left, _ in self._waiting)

    def take(self, method: str, path: str) -> Fault:
        """The fault for a request, which is then used up; one without consequences when there is none."""
        with self._changing:
            for i, (left, fault) in enumerate(self._waiting):
                if left and fault.method == method and fnmatchcase(path, fault.path):
                    self._waiting[i] = (left - 1, fault)
                    return fault
        return Fault(method, path)

    def _add(self, fault: Fault, times: int) -> None:
        with self._changing:
            self._waiting.append((times, fault))
