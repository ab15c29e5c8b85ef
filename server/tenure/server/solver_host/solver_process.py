"""Server side of a solver process: one request at a time, killed when it hangs."""

import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Final

from tenure.server.solver_host import worker
from tenure.server.solver_host.protocol import STOP, SolveRequest, SolveResult

GRACE_SECONDS: Final = 2.0
"""Time that a process may continue after the stop signal."""
_LOOK_SECONDS: Final = 0.01
"""Interval at which a waiting call checks its deadline."""


class SolverProcessLost(RuntimeError):
    """The process ended, or hung and was killed. Nothing was decided."""


class SolverProcess:
    """A process that starts at once and is ready later. Used by one thread at a time.

    Its profile is given as `profile_text`.
    """

    def __init__(self, profile: str) -> None:
        context = get_context("spawn")
        self._connection, worker_end = context.Pipe()
        self._process = context.Process(
            target=worker.run, args=(worker_end, profile), name="tenure-solver", daemon=True
        )
        self._process.start()
        worker_end.close()

    @property
    def pid(self) -> int:
        """Pid of the process, for monitoring."""
        assert self._process.pid is not None
        return self._process.pid

    def solve(self, request: SolveRequest, stop: Callable[[], bool]) -> SolveResult:
        """Response; when `stop` returns true, the decisions made so far.

        Raises SolverProcessLost.
        """
        try:
            self._connection.send(request)
            self._wait(stop)
            answer: SolveResult = self._connection.recv()
            return answer
        except (EOFError, OSError):
            raise SolverProcessLost("a solver process exited during a cycle") from None

    def kill(self) -> None:
        """Kill the process."""
        self._connection.close()
        self._process.kill()
        self._process.join()

    def _wait(self, stop: Callable[[], bool]) -> None:
        stopped_at: float | None = None
        while not self._connection.poll(_LOOK_SECONDS):
            if stopped_at is None and stop():
                self._connection.send(STOP)
                stopped_at = time.monotonic()
            elif stopped_at is not None and time.monotonic() > stopped_at + GRACE_SECONDS:
                raise SolverProcessLost("a solver process ignored a stop request")
