"""A server process that can be killed and restarted at once at the same address."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.small_snapshot import child_environment


class RestartableServer:
    """`kill` ends the server like a power failure; `start` starts another one.

    Servers are forked from a process that has only imported all modules.
    """

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:{folder / 'server'}"
        self.deaths = 0
        self._pid = 0
        self._maker = subprocess.Popen(
            [sys.executable, "-m", "tests.state.failover.fork_server", self.address],
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> None:
        """Start a server and return when it is ready."""
        assert self._maker.stdin is not None
        assert self._maker.stdout is not None
        print(file=self._maker.stdin, flush=True)
        self._pid = int(self._maker.stdout.readline())

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self.deaths += 1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._maker.kill()
        self._maker.communicate()
