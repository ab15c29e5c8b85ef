"""The solver processes of a server: as many as concurrent cycles, each replaced when it is lost."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from tenure.server.solver_host.protocol import SolveRequest, SolveResult
from tenure.server.solver_host.solver_process import SolverProcess, SolverProcessLost
from tenure.solver.plugin_api.profile import Profile, profile_text

MAX_LOSSES: Final = 3
"""Maximum number of replacements within PERIOD_SECONDS; then the server is not ready for that long."""
PERIOD_SECONDS: Final = 60.0
_LOG: Final = logging.getLogger(__name__)


class SolverUnavailable(RuntimeError):
    """Solver processes were lost repeatedly: no process is started for a while."""


class SolverPool:
    """Runs requests in processes that are started on demand and reused."""

    def __init__(self, profile: Profile, period_seconds: float = PERIOD_SECONDS) -> None:
        self._profile = profile_text(profile)
        self._watchers: list[Callable[[bool], None]] = []
        self._period = period_seconds
        self._idle = [SolverProcess(self._profile)]
        self._busy: set[SolverProcess] = set()
        self._losses: deque[float] = deque(maxlen=MAX_LOSSES + 1)
        self._recovery_timer: threading.Timer | None = None
        self._changing = threading.Lock()

    def solve(self, request: SolveRequest, stop: Callable[[], bool]) -> SolveResult:
        """Response of a process of the pool.

        Raises SolverProcessLost if the process is lost, SolverUnavailable after too many losses.
        """
        child = self._acquire()
        try:
            answer = child.solve(request, stop)
        except SolverProcessLost:
            self._replace(child)
            raise
        except BaseException:
            self._give_up(child)
            raise
        with self._changing:
            self._busy.discard(child)
            self._idle.append(child)
        return answer

    def watch(self, notify: Callable[[bool], None]) -> None:
        """Register a callback: False when the pool becomes not ready, True when it is ready again."""
        self._watchers.append(notify)

    def busy_pids(self) -> list[int]:
        """Pids of processes that are running a cycle, for monitoring."""
        with self._changing:
            return [child.pid for child in self._busy]

    def close(self) -> None:
        """End all processes."""
        with self._changing:
            children, self._idle, self._busy = [*self._idle, *self._busy], [], set()
            if self._recovery_timer is not None:
                self._recovery_timer.cancel()
        for child in children:
            child.kill()

    def _acquire(self) -> SolverProcess:
        with self._changing:
            if self._recovery_timer is not None:
                raise SolverUnavailable("solver processes fail repeatedly; see the server log")
            child = self._idle.pop() if self._idle else SolverProcess(self._profile)
            self._busy.add(child)
            return child

    def _give_up(self, child: SolverProcess) -> None:
        with self._changing:
            self._busy.discard(child)
        child.kill()

    def _replace(self, child: SolverProcess) -> None:
        """Start another process, unless too many were lost recently."""
        self._give_up(child)
        now = time.monotonic()
        with self._changing:
            self._losses.append(now)
            if len(self._losses) <= MAX_LOSSES or now - self._losses[0] > self._period:
                _LOG.error("A solver process was lost; another one is started.")
                self._idle.append(SolverProcess(self._profile))
                return
            _LOG.error("Solver processes were lost too often; none is started for %g seconds.", self._period)
            if self._recovery_timer is None:
                self._recovery_timer = threading.Timer(self._period, self._recover)
                self._recovery_timer.daemon = True
                self._recovery_timer.start()
        self._notify(False)

    def _notify(self, is_ready: bool) -> None:
        for report in self._watchers:
            report(is_ready)

    def _recover(self) -> None:
        with self._changing:
            self._recovery_timer = None
            self._losses.clear()
            self._idle.append(SolverProcess(self._profile))
        self._notify(True)
