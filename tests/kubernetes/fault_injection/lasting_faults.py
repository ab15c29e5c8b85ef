"""Faults that last for a whole run: interrupted watches, and slow, rejected or unanswered calls."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

from tests.kubernetes.fault_injection.history import RecordedRequest
from tests.kubernetes.fault_injection.proxy import HANG_UP, Fault, ProxyResponse, WatchCut

_BYTES: Final = (200, 8000)
"""Minimum and maximum number of bytes of a watch before it is cut."""
EXPIRED: Final = {
    "type": "ERROR",
    "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"},
}


class WatchesCut(Fault):
    """Every watch is cut at a byte that is the same in every run."""

    def stream(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        left = random.Random(request.number).randint(*_BYTES)
        for chunk in chunks:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                self.has_struck.set()
                raise WatchCut


class WatchesExpired(Fault):
    """Every watch ends after some events with the error that its version is expired."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self._events = events

    def stream(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        rest, left = b"", self._events
        for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines[:left]:
                yield line + b"\n"
            left -= len(lines)
            if left <= 0:
                self.has_struck.set()
                yield json.dumps(EXPIRED).encode() + b"\n"
                return


class SlowCalls(Fault):
    """Every call is delayed."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        self.has_struck.set()
        time.sleep(self._seconds)
        return None


class _RepeatedFault(Fault):
    """Strikes the first `times` of every `of` calls with the same key."""

    def __init__(self, key: Callable[[RecordedRequest], Hashable], times: int, of: int) -> None:
        super().__init__()
        self._key, self._times, self._of = key, times, of
        self._seen: Counter[Hashable] = Counter()
        self._counting = threading.Lock()

    def strikes(self, request: RecordedRequest) -> bool:
        """Whether the fault strikes this call; never if its key is None."""
        key = self._key(request)
        if key is None:
            return False
        with self._counting:
            self._seen[key] += 1
            is_struck = (self._seen[key] - 1) % self._of < self._times
        if is_struck:
            self.has_struck.set()
        return is_struck


class CallsRejected(_RepeatedFault):
    """Returns a response in place of the API server's."""

    def __init__(
        self, answer: ProxyResponse, key: Callable[[RecordedRequest], Hashable], times: int, of: int
    ) -> None:
        super().__init__(key, times, of)
        self._answer = answer

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        return self._answer if self.strikes(request) else None


class ResponsesLost(_RepeatedFault):
    """The API server applies the request, and the response is lost."""

    def after(self, request: RecordedRequest, status: int) -> ProxyResponse | None:
        return HANG_UP if self.strikes(request) else None


def writes(request: RecordedRequest) -> Hashable:
    """Key of writes: method and path."""
    return (request.method, request.path) if request.is_write else None


def evictions(request: RecordedRequest) -> Hashable:
    """Key of evictions: the pod."""
    return request.uid if request.is_eviction else None


def any_eviction(request: RecordedRequest) -> Hashable:
    """Key of evictions: the same for all."""
    return "eviction" if request.is_eviction else None


def status(code: int, message: str, **headers: str) -> ProxyResponse:
    """Build the response of an API server that rejects a request."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
    return ProxyResponse(code, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
