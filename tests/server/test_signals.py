"""The server handles every signal, regardless of the thread that receives it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, get_ident

from tenure.server.grpc_server import wait_for_signal


@contextmanager
def handle_signal(event: Event) -> Iterator[None]:
    """SIGUSR1 sets the event."""
    before = signal.signal(signal.SIGUSR1, lambda *_: event.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_signal_received_by_another_thread_wakes_the_main_thread() -> None:
    event, is_asleep = Event(), Event()

    def get_it() -> None:
        is_asleep.wait(0.2)  # long enough for the main thread to fall asleep
        signal.pthread_kill(get_ident(), signal.SIGUSR1)

    with handle_signal(event):
        other = Thread(target=get_it)
        other.start()
        wait_for_signal(event)
        other.join()


def test_earlier_signal_returns_immediately() -> None:
    event = Event()
    with handle_signal(event):
        signal.raise_signal(signal.SIGUSR1)
        wait_for_signal(event)


def test_wakeup_descriptor_is_reset_afterwards() -> None:
    event = Event()
    event.set()
    wait_for_signal(event)
    assert signal.set_wakeup_fd(-1) == -1
