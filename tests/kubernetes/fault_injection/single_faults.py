"""Faults that strike once, at one call: a process is killed, paused, restarted or unreachable for a time."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from tests.kubernetes.fault_injection.history import RecordedRequest
from tests.kubernetes.fault_injection.proxy import HANG_UP, Fault, ProxyResponse

_MOST_ATTEMPTS: Final = 20
"""Maximum number of attempts to watch a collection while the API server is unreachable."""


class SingleFault(Fault):
    """Strikes at the n-th counted call. Calls about the lease and watches are not counted."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at
        self._run: Any = None
        self._passed = 0
        self._counting = threading.Lock()

    def arm(self, run: Any) -> None:
        self._run = run

    def counts(self, request: RecordedRequest) -> bool:
        """Whether a call is counted."""
        return not request.is_of_lease and not request.is_watch

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        if not self.counts(request) or not self._is_the_one():
            return None
        self.has_struck.set()
        return self.strike(request)

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        """Apply the fault."""
        raise NotImplementedError

    def _is_the_one(self) -> bool:
        with self._counting:
            self._passed += 1
            return self._passed == self._at


class AdapterKilled(SingleFault):
    """kill -9 before a call is sent, or before the adapter receives its response; another adapter starts.

    `clock_offset` is the number of seconds by which the clock of the new adapter is ahead.
    """

    def __init__(self, at: int, *, after: bool = False, clock_offset: float = 0.0) -> None:
        super().__init__(at)
        self._after, self._clock_offset = after, clock_offset
        self._doomed: RecordedRequest | None = None

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        if self._after:
            self._doomed = request
            return None
        self._replace()
        return HANG_UP

    def after(self, request: RecordedRequest, status: int) -> ProxyResponse | None:
        if request is not self._doomed:
            return None
        self._replace()
        return HANG_UP

    def _replace(self) -> None:
        (adapter,) = self._run.adapters
        adapter.clock_offset = self._clock_offset
        adapter.replace()


class ServiceKilled(SingleFault):
    """kill -9 of the service some seconds after a call began; it restarts later at the same address."""

    def __init__(self, at: int, *, delay: float = 0.0, away: float = 0.0) -> None:
        super().__init__(at)
        self._delay, self._away = delay, away

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        _later(self._delay, self._kill)
        return None

    def _kill(self) -> None:
        self._run.site.service.kill()
        _later(self._away, self._run.site.service.start)


class ApiServerRestarted(SingleFault):
    """kill -9 of the API server; it restarts after some seconds."""

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        self._run.site.plane.api_server.kill()
        _later(0, self._run.site.plane.restart_api_server)
        return None


class ProcessPaused(SingleFault):
    """SIGSTOP of a process for some seconds; a function of the run and the call selects the process."""

    def __init__(self, at: int, who: Callable[[Any, RecordedRequest], Any], seconds: float) -> None:
        super().__init__(at)
        self._who, self._seconds = who, seconds

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        program = self._who(self._run, request)
        program.pause()
        _later(self._seconds, lambda: program.has_ended or program.resume())
        return None


class LeaderPaused(ProcessPaused):
    """The adapter that sends the n-th write is paused; the write arrives."""

    def __init__(self, at: int, seconds: float) -> None:
        super().__init__(at, lambda run, request: run.program_of(request.actor), seconds)

    def counts(self, request: RecordedRequest) -> bool:
        return request.is_write and not request.is_of_lease


class ApiServerUnreachable(SingleFault):
    """The API server is unreachable for some seconds. Too frequent retries are a problem."""

    def __init__(self, at: int, seconds: float) -> None:
        super().__init__(at)
        self._seconds = seconds
        self._is_over = threading.Event()
        self._attempts: Counter[str] = Counter()
        """Attempts per watch while the API server is unreachable."""

    def before(self, request: RecordedRequest) -> ProxyResponse | None:
        struck = super().before(request)
        if not self.has_struck.is_set() or self._is_over.is_set():
            return struck
        if request.is_watch:
            self._attempts[request.path] += 1
        return HANG_UP

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        self._run.proxy.cut_all()
        _later(self._seconds, self._is_over.set)
        return None

    def problems(self) -> list[str]:
        often = {path: count for path, count in self._attempts.items() if count > _MOST_ATTEMPTS}
        return super().problems() + [f"{path} was tried {count} times" for path, count in often.items()]


class PodRecreated(SingleFault):
    """The pod of the n-th binding is deleted and recreated with the same name before the binding arrives."""

    def counts(self, request: RecordedRequest) -> bool:
        return request.is_binding

    def strike(self, request: RecordedRequest) -> ProxyResponse | None:
        self._run.recreate_pod(request.path.split("/")[-2], request.uid)
        return None


def _later(seconds: float, act: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
