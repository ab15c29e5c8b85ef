"""The server notices every signal, whichever of its threads gets it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, get_ident

from tenure.server.signals import wait_until


@contextmanager
def handled(told: Event) -> Iterator[None]:
    """SIGUSR1 sets the event."""
    before = signal.signal(signal.SIGUSR1, lambda *_: told.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_another_thread_gets_wakes_the_main_thread() -> None:
    told, is_asleep = Event(), Event()

    def get_it() -> None:
        is_asleep.wait(0.2)  # long enough for the main thread to fall asleep
        signal.pthread_kill(get_ident(), signal.SIGUSR1)

    with handled(told):
        other = Thread(target=get_it)
        other.start()
        wait_until(told)
        other.join()


def test_a_signal_that_came_before_is_not_waited_for() -> None:
    told = Event()
    with handled(told):
        signal.raise_signal(signal.SIGUSR1)
        wait_until(told)


def test_nothing_is_written_for_signals_any_more_when_it_is_over() -> None:
    told = Event()
    told.set()
    wait_until(told)
    assert signal.set_wakeup_fd(-1) == -1
