"""Wait for signals in the main thread without missing one."""

import signal
import socket
from threading import Event
from typing import Final

_MANY: Final = 4_096
"""Bytes read at a time: one per signal."""


def wait_for_signal(is_stopped: Event) -> None:
    """Wait until a signal handler sets the event. Must run in the main thread.

    Python runs handlers in the main thread, between two bytecode instructions. A signal that arrives just
    before that thread blocks, or in another thread, does not wake it, and its handler would wait for the next
    signal. Therefore every signal also writes a byte, and the main thread waits for bytes.
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
