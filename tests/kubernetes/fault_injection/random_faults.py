"""Faults in random sequences: at each call of an adapter, one of many may strike.

What strikes depends on the seed and on the number of the call only. Processes are disturbed one at a time.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tests.kubernetes.fault_injection.history import RecordedRequest
from tests.kubernetes.fault_injection.lasting_faults import EXPIRED, status
from tests.kubernetes.fault_injection.proxy import HANG_UP, Fault, ProxyResponse, WatchCut

SHARE: Final = 0.12
"""Share of calls that a fault strikes."""
_SHARE_OF_PROCESSES: Final = 0.06
"""Share of faults that disturb a process."""
_HOUR: Final = 3600.0
_LONGEST_DELAY: Final = 1.5
_LONGEST_PAUSE: Final = 6.0
_PAGES: Final = (200, 8000)
"""Minimum and maximum number of bytes of a watch before it is cut."""
_RESPONSES: Final = {
    "409": status(409, "the object has been modified"),
    "410": status(410, "too old resource version"),
    "429": status(429, "too many requests"),
    "429 with Retry-After": status(429, "too many requests", **{"Retry-After": "1"}),
    "500": status(500, "internal error"),
    "503": status(503, "the server is currently unable to handle the request"),
}


class RandomFaults(Fault):
    """Strikes calls at random until `calm` is called. `counts` are the faults so far, by kind."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self.counts: Counter[str] = Counter()
        self.struck: list[tuple[float, str]] = []
        """When each fault struck, and what."""
        self._run: Any = None
        self._is_calm = threading.Event()
        self._changing = threading.Lock()
        self._disturbance = threading.Lock()
        """Held while a process is disturbed."""
        self._lost: set[int] = set()
        """Numbers of calls whose response is lost."""

    def arm(self, run: Any) -> None:
        self._run = run

    def calm(self) -> None:
        """Strike no more, and wait until the last disturbance has ended."""
        self._is_calm.set()
        with self._disturbance:
            pass

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        draw = self._draw(request, "call")
        if self._is_calm.is_set() or draw.random() >= SHARE:
            return None
        if draw.random() < _SHARE_OF_PROCESSES and self._disturb(request, draw):
            return None
        kind = draw.choice(_kinds(request))
        if kind in ("watch cut", "watch expired"):
            return None  # see stream
        self._count(kind, request)
        if kind == "slow":
            time.sleep(draw.random() * _LONGEST_DELAY)
        elif kind == "response lost":
            self._lost.add(request.number)
        elif kind == "request lost":
            return HANG_UP
        return _RESPONSES.get(kind)

    def after(self, request: RecordedRequest, status: int) -> ProxyResponse | None:
        return HANG_UP if request.number in self._lost else None

    def stream(self, request: RecordedRequest, chunks: Iterable[bytes]) -> Iterator[bytes]:
        draw = self._draw(request, "watch")
        kind = draw.choice(["", "watch cut", "watch expired"])
        left = draw.randint(*_PAGES)
        for chunk in chunks:
            if not kind or self._is_calm.is_set():
                yield chunk
                continue
            if len(chunk) <= left:
                left -= len(chunk)
                yield chunk
                continue
            self._count(kind, request)
            if kind == "watch cut":
                yield chunk[:left]
                raise WatchCut
            yield chunk[: chunk.find(b"\n", 0, left) + 1]
            yield json.dumps(EXPIRED).encode() + b"\n"
            return

    def _draw(self, request: RecordedRequest, what: str) -> random.Random:
        return random.Random(f"{self._seed} {request.number} {what}")

    def _count(self, kind: str, request: RecordedRequest) -> None:
        with self._changing:
            self.counts[kind] += 1
            self.struck.append((time.time(), f"{kind}, at call {request.number}"))
        self.has_struck.set()

    def _disturb(self, request: RecordedRequest, draw: random.Random) -> bool:
        """Disturb a process, unless one is disturbed already."""
        if not self._disturbance.acquire(blocking=False):
            return False
        kind = draw.choice(list(_DISTURBANCES))
        self._count(kind, request)
        seconds = 0.2 + draw.random() * _LONGEST_PAUSE

        def act() -> None:
            try:
                _DISTURBANCES[kind](self._run, request, seconds)
            finally:
                self._disturbance.release()

        threading.Thread(target=act, daemon=True).start()
        return True


def _kinds(request: RecordedRequest) -> list[str]:
    """What can strike a call."""
    if request.is_watch:
        return ["410", "500", "slow", "request lost", "watch cut", "watch expired"]
    if not request.is_write:
        return ["410", "500", "503", "429 with Retry-After", "slow", "request lost", "response lost"]
    return ["409", "429", "429 with Retry-After", "500", "503", "slow", "request lost", "response lost"]


def _replace_adapter(run: Any, request: RecordedRequest, seconds: float) -> None:
    (adapter,) = (one for one in run.adapters if one.actor == request.actor)
    adapter.replace()


def _replace_adapter_with_another_clock(run: Any, request: RecordedRequest, seconds: float) -> None:
    (adapter,) = (one for one in run.adapters if one.actor == request.actor)
    adapter.clock_offset = -_HOUR if adapter.clock_offset else _HOUR
    adapter.replace()


def _pause_adapter(run: Any, request: RecordedRequest, seconds: float) -> None:
    _pause(run.program_of(request.actor), seconds)


def _kill_service(run: Any, request: RecordedRequest, seconds: float) -> None:
    run.site.service.kill()
    time.sleep(seconds)
    run.site.service.start()


def _restart_api_server(run: Any, request: RecordedRequest, seconds: float) -> None:
    run.site.plane.api_server.kill()
    run.site.plane.restart_api_server()


def _pause_api_server(run: Any, request: RecordedRequest, seconds: float) -> None:
    _pause(run.site.plane.api_server, seconds)


def _pause_etcd(run: Any, request: RecordedRequest, seconds: float) -> None:
    _pause(run.site.plane.etcd, seconds)


def _cut_all(run: Any, request: RecordedRequest, seconds: float) -> None:
    run.proxy.cut_all()


def _pause(program: Any, seconds: float) -> None:
    program.pause()
    time.sleep(seconds)
    if not program.has_ended:
        program.resume()


_DISTURBANCES: Final[dict[str, Callable[[Any, RecordedRequest, float], None]]] = {
    "adapter killed": _replace_adapter,
    "adapter replaced, another clock": _replace_adapter_with_another_clock,
    "adapter paused": _pause_adapter,
    "service killed": _kill_service,
    "API server restarted": _restart_api_server,
    "API server paused": _pause_api_server,
    "etcd paused": _pause_etcd,
    "all connections cut": _cut_all,
}
