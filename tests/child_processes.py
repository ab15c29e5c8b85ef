"""Programs as child processes, with a log file. They can be paused and killed, and never outlive the test."""

import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import Final

LOWEST_OF_SERVERS: Final = 12_000
LOWEST_OF_CONNECTIONS: Final = 32_768
"""Default of Linux (`net.ipv4.ip_local_port_range`)."""
ATTEMPTS: Final = 1_000
_GIVEN: Final[set[int]] = set()
"""Ports that this process gave away."""


class Program:
    """One run of a program. Its output goes to a file beside its data."""

    def __init__(self, log: Path, *command: str | Path, env: dict[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command], stdout=output, stderr=output, env=env, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited."""
        return self._process.poll() is not None

    @property
    def output(self) -> str:
        """The end of the output of all runs."""
        return self._log.read_text(errors="replace")[-4000:]

    def pause(self) -> None:
        """Stop the process until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Continue a paused process."""
        os.kill(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Send SIGHUP, on which programs reload their configuration."""
        os.kill(self.pid, signal.SIGHUP)

    def terminate(self, seconds: float) -> int:
        """Send SIGTERM and return the exit code. Raises subprocess.TimeoutExpired if it does not exit."""
        self._process.terminate()
        return self._process.wait(seconds)

    def kill(self) -> None:
        """Kill the process, paused or not."""
        if not self.has_ended:
            self._process.kill()
        self._process.wait()


def free_port() -> int:
    """Return a free port of the loopback interface, which no outgoing connection takes before it is used.

    The system gives connections ports from `LOWEST_OF_CONNECTIONS` on, so those of servers are below.
    """
    draw = random.SystemRandom()
    for _ in range(ATTEMPTS):
        port = draw.randrange(LOWEST_OF_SERVERS, LOWEST_OF_CONNECTIONS)
        if port in _GIVEN:
            continue
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        _GIVEN.add(port)
        return port
    raise RuntimeError("no port is free")
