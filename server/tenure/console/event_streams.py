"""Server-sent events: the number of the newest view, whenever it changes. Pages then load again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from tenure.console.view import ShardName
from tenure.console.watch import Watch
from tenure.process.open_connections import ConnectionCount, ConnectionLimits

STREAM_SECONDS: Final = 900.0
"""Time after which a stream of events ends; the browser connects again, with new credentials."""
HEARTBEAT_SECONDS: Final = 15.0
STREAMS: Final = ConnectionLimits(most=200, most_of_a_host=50)
"""Open streams, by reader instead of by host."""
LATER_MILLISECONDS: Final = 60_000
"""Time after which a browser connects again whose stream another one replaced."""


@dataclass(eq=False)
class _Stream:
    """One open stream."""

    shard: ShardName
    changed: asyncio.Event
    is_replaced: bool = False


class EventStreams:
    """The open streams of a console. If there are too many, the oldest of the reader with the most ends."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._open: ConnectionCount[_Stream] = ConnectionCount(STREAMS)
        self._is_ended = False

    def open(self, shard: ShardName, reader: str) -> Response:
        """A stream about a cluster, for the reader of this name."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = self._stream(_Stream(shard, asyncio.Event()), reader)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    def end(self) -> None:
        """End all streams at once: the process stops."""
        self._is_ended = True
        self._watch.notify()

    async def _stream(self, stream: _Stream, reader: str) -> AsyncIterator[str]:
        """At most one event a second, and a comment when nothing happens, so that proxies keep the stream."""
        loop, changed = asyncio.get_running_loop(), stream.changed
        ends, last = time.monotonic() + STREAM_SECONDS, ""
        replaced = self._open.add(stream, reader)
        if replaced is not None:
            replaced.is_replaced = True
            replaced.changed.set()
        try:
            with self._watch.listening(partial(_wake, loop, changed)):
                yield "retry: 2000\n\n"
                while time.monotonic() < ends and not self._is_ended and not stream.is_replaced:
                    changed.clear()
                    view = await run_in_threadpool(self._watch.view, stream.shard, 0.0)
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
            if stream.is_replaced:
                yield f"retry: {LATER_MILLISECONDS}\n\n"
        finally:
            self._open.remove(stream)


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(changed.set)
