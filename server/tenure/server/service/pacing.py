"""Streams at their pace: ended when nothing comes, or is taken, for too long, or when the server drains."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Timer
from typing import Final, TypeVar

from tenure.server.service.admission import Admission

Response = TypeVar("Response")

_LOOK_SECONDS: Final = 0.5
"""How often a stream on which nothing comes looks whether the server drains."""


class IdleStream(TimeoutError):
    """Nothing came on a stream for too long."""


def paced(requests: Iterator[bytes], admission: Admission, idle_seconds: float) -> Iterator[bytes]:
    """The requests of a stream. Raises IdleStream or Draining.

    gRPC lets nobody wait for a request with a timeout, so a thread of its own waits for it; it ends with the
    call. It takes a request when it is asked for one, so a slow reader holds its caller back.
    """
    reader = ThreadPoolExecutor(1, "stream")
    try:
        while (request := _arrived(reader.submit(next, requests, None), admission, idle_seconds)) is not None:
            yield request
    finally:
        reader.shutdown(wait=False)


def taken(
    responses: Iterator[Response], admission: Admission, hang_up: Callable[[], object], idle_seconds: float
) -> Iterator[Response]:
    """The responses of a stream; hangs up on a caller who takes too long for one. Raises Draining."""
    for response in responses:
        admission.refuse_if_draining()
        patience = Timer(idle_seconds, hang_up)
        patience.daemon = True
        patience.start()
        try:
            yield response
        finally:
            patience.cancel()


def _arrived(coming: "Future[bytes | None]", admission: Admission, idle_seconds: float) -> bytes | None:
    """The next request, or None at the end of the stream."""
    waited = 0.0
    while True:
        admission.refuse_if_draining()
        try:
            return coming.result(min(_LOOK_SECONDS, idle_seconds - waited))
        except TimeoutError:
            waited += _LOOK_SECONDS
            if waited >= idle_seconds:
                raise IdleStream from None
