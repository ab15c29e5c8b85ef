"""The solver processes of a server: as many as cycles may run at a time, each replaced when it is lost."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from tenure.server.digest import profile_text
from tenure.server.host.child import Child, ChildLost
from tenure.server.host.protocol import Answer, Question
from tenure.solver.framework.profile import Profile

MAX_LOST: Final = 3
"""Processes that may be replaced within PERIOD_SECONDS; then the server is not ready for that long."""
PERIOD_SECONDS: Final = 60.0
_LOG: Final = logging.getLogger(__name__)


class NotReady(RuntimeError):
    """Solver processes were lost again and again: none is started for a while."""


class Pool:
    """Answers questions with processes that are started when they are needed and kept."""

    def __init__(self, profile: Profile, period_seconds: float = PERIOD_SECONDS) -> None:
        self._profile = profile_text(profile)
        self._watchers: list[Callable[[bool], None]] = []
        self._period = period_seconds
        self._idle = [Child(self._profile)]
        self._busy: set[Child] = set()
        self._lost: deque[float] = deque(maxlen=MAX_LOST + 1)
        self._ready_again: threading.Timer | None = None
        self._changing = threading.Lock()

    def ask(self, question: Question, stop: Callable[[], bool]) -> Answer:
        """The answer of some process. Raises ChildLost when that one is lost, NotReady when too many were."""
        child = self._take()
        try:
            answer = child.ask(question, stop)
        except ChildLost:
            self._replace(child)
            raise
        except BaseException:
            self._give_up(child)
            raise
        with self._changing:
            self._busy.discard(child)
            self._idle.append(child)
        return answer

    def watch(self, tell: Callable[[bool], None]) -> None:
        """Call this with False when the pool becomes not ready, and with True when it is ready again."""
        self._watchers.append(tell)

    def busy_pids(self) -> list[int]:
        """Processes that are in the middle of a cycle, for those who watch them."""
        with self._changing:
            return [child.pid for child in self._busy]

    def close(self) -> None:
        """End all processes."""
        with self._changing:
            children, self._idle, self._busy = [*self._idle, *self._busy], [], set()
            if self._ready_again is not None:
                self._ready_again.cancel()
        for child in children:
            child.kill()

    def _take(self) -> Child:
        with self._changing:
            if self._ready_again is not None:
                raise NotReady("solver processes fail again and again: retry later, and see the log")
            child = self._idle.pop() if self._idle else Child(self._profile)
            self._busy.add(child)
            return child

    def _give_up(self, child: Child) -> None:
        with self._changing:
            self._busy.discard(child)
        child.kill()

    def _replace(self, child: Child) -> None:
        """Start another one, unless that happened too often of late."""
        self._give_up(child)
        now = time.monotonic()
        with self._changing:
            self._lost.append(now)
            if len(self._lost) <= MAX_LOST or now - self._lost[0] > self._period:
                _LOG.error("A solver process was lost; another one is started.")
                self._idle.append(Child(self._profile))
                return
            _LOG.error("Solver processes were lost too often; none is started for %g seconds.", self._period)
            if self._ready_again is None:
                self._ready_again = threading.Timer(self._period, self._recover)
                self._ready_again.daemon = True
                self._ready_again.start()
        self._tell(False)

    def _tell(self, is_ready: bool) -> None:
        for tell in self._watchers:
            tell(is_ready)

    def _recover(self) -> None:
        with self._changing:
            self._ready_again = None
            self._lost.clear()
            self._idle.append(Child(self._profile))
        self._tell(True)
