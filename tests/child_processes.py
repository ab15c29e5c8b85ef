"""Programs as child processes: started with a log file, paused, killed by id, never left behind."""

import os
import signal
import socket
import subprocess
from pathlib import Path


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
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    @property
    def output(self) -> str:
        """The last of what it wrote, of all its runs."""
        return self._log.read_text(errors="replace")[-4000:]

    def pause(self) -> None:
        """Let it hang until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Send it SIGHUP: programs read something again."""
        os.kill(self.pid, signal.SIGHUP)

    def terminate(self, seconds: float) -> int:
        """Ask it to end; its exit code. Raises subprocess.TimeoutExpired when it does not."""
        self._process.terminate()
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End it at once, paused or not."""
        if not self.has_ended:
            self._process.kill()
        self._process.wait()


def free_port() -> int:
    """A port of the loopback device that nobody listens on just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
