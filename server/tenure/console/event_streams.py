"""Server-sent events: the number of the newest view, whenever it changes. Pages then load again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from tenure.console.view import ShardName
from tenure.console.watch import Watch

STREAM_SECONDS: Final = 900.0
"""Time after which a stream of events ends; the browser connects again, with new credentials."""
HEARTBEAT_SECONDS: Final = 15.0
MAX_STREAMS: Final = 200


class EventStreams:
    """The open streams of a console."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._open = 0
        self._is_ended = False

    def open(self, shard: ShardName) -> Response:
        """A stream about a cluster, or a refusal if there are too many."""
        if self._open >= MAX_STREAMS:
            return PlainTextResponse("too many streams of events", 503)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._stream(shard), media_type="text/event-stream", headers=headers)

    def end(self) -> None:
        """End all streams at once: the process stops."""
        self._is_ended = True
        self._watch.notify()

    async def _stream(self, shard: ShardName) -> AsyncIterator[str]:
        """At most one event a second, and a comment when nothing happens, so that proxies keep the stream."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        ends, last = time.monotonic() + STREAM_SECONDS, ""
        self._open += 1
        try:
            with self._watch.listening(partial(_wake, loop, changed)):
                yield "retry: 2000\n\n"
                while time.monotonic() < ends and not self._is_ended:
                    changed.clear()
                    view = await run_in_threadpool(self._watch.view, shard, 0.0)
                    current = ("!" if self._watch.problem else "") + (str(view.number) if view else "")
                    if current != last:
                        last = current
                        yield f"id: {current}\ndata: {current}\n\n"
                        await asyncio.sleep(1.0)
                        continue
                    try:
                        await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                    except TimeoutError:
                        yield ": \n\n"
        finally:
            self._open -= 1


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(changed.set)
