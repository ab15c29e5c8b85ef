"""Idle timeouts of streams."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Timer
from typing import Final, TypeVar

Response = TypeVar("Response")

LOOK_SECONDS: Final = 0.5
"""Interval at which an idle stream checks whether it must end."""


class StreamIdleTimeout(TimeoutError):
    """A stream was idle for too long."""


def receive_with_timeout(
    requests: Iterator[bytes], check: Callable[[], None], idle_seconds: float
) -> Iterator[bytes]:
    """The requests of a stream. Raises StreamIdleTimeout, or what `check` raises twice a second.

    gRPC has no timeout for receiving a request, so a thread of its own receives; it ends with the call. It
    receives one request at a time on demand, so a slow reader slows its caller down.
    """
    reader = ThreadPoolExecutor(1, "stream")
    try:
        while (
            request := _wait_for_message(reader.submit(next, requests, None), check, idle_seconds)
        ) is not None:
            yield request
    finally:
        reader.shutdown(wait=False)


def send_with_timeout(
    responses: Iterator[Response],
    check: Callable[[], None],
    hang_up: Callable[[], object],
    idle_seconds: float,
) -> Iterator[Response]:
    """Responses of a stream; cancels if the caller is too slow to receive one. Raises what `check` raises."""
    for response in responses:
        check()
        patience = Timer(idle_seconds, hang_up)
        patience.daemon = True
        patience.start()
        try:
            yield response
        finally:
            patience.cancel()


def _wait_for_message(
    coming: "Future[bytes | None]", check: Callable[[], None], idle_seconds: float
) -> bytes | None:
    """Next request, or None at the end of the stream."""
    waited = 0.0
    while True:
        check()
        try:
            return coming.result(min(LOOK_SECONDS, idle_seconds - waited))
        except TimeoutError:
            waited += LOOK_SECONDS
            if waited >= idle_seconds:
                raise StreamIdleTimeout from None
