"""Waiting in the main thread without missing a signal."""

import signal
import socket
from threading import Event
from typing import Final

_MANY: Final = 4_096
"""Bytes that are taken at a time: one for each signal that came."""


def wait_for_signal(is_stopped: Event) -> None:
    """Wait until a signal handler sets the event. To be called by the main thread.

    Python runs a handler in the main thread, between two of its steps. A signal that comes just when that
    thread falls asleep, or that another thread gets, does not wake it, and its handler would wait for the
    next signal. So every signal writes a byte as well, and the main thread waits for these.
    """
    taking, giving = socket.socketpair()
    with taking, giving:
        giving.setblocking(False)
        before = signal.set_wakeup_fd(giving.fileno(), warn_on_full_buffer=False)
        try:
            while not is_stopped.is_set():
                taking.recv(_MANY)
        finally:
            signal.set_wakeup_fd(before)
