"""A server as a process of its own, for as long as it is needed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tenure.client.errors import Unavailable

_STOP_SECONDS: Final = 10
"""How long the server may take to drain before it is killed."""


@contextmanager
def server_process() -> Iterator[str]:
    """Starts `tenure serve` on a free port of this machine; its address, until the block ends.

    Raises Unavailable when the server ends before it serves.
    """
    command = [sys.executable, "-m", "tenure.server", "serve", "--listen", "127.0.0.1:0", "--no-records"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
        try:
            yield _address(process)
        finally:
            _stop(process)


def _address(process: "subprocess.Popen[str]") -> str:
    """The last word of the line in which the server says that it serves."""
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise Unavailable("the server ended before it was ready; what it said is above")
    return line.split()[-1]


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
