"""A console on a real port over a real server, with the story of the demo at a fixed time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from tenure.cli.live.story import Story
from tenure.client import Client, StateSession
from tenure.console.access import Access
from tenure.console.process import ConsoleServer
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions

from tests.console.console_site import OPERATOR
from tests.server.servers import run_server

BEGIN = 1_800_000_000
"""Time at which the story begins, in seconds since 1970."""
TICKS = 27
"""Seconds of the story that are played: it has reclaimed and preempted, and the last cycle requeues."""


class LiveConsole:
    """The address of the pages, and the story that goes on when a test says so."""

    def __init__(self, address: str, service: str, session: StateSession, watch: Watch) -> None:
        self.address, self.service, self.session, self.watch = address, service, session, watch
        self.story = Story(session)
        self._time = BEGIN

    def play(self, ticks: int = 1) -> None:
        """Go on with the story."""
        for _ in range(ticks):
            self.story.play(self._time)
            self._time += 1


@contextmanager
def run_console(options: SiteOptions = OPERATOR, poll_seconds: float = 0.05) -> Iterator[LiveConsole]:
    """A console without any state."""
    with run_server() as (_, service), Client(service) as client, StateSession(client) as session:
        watched = Client(service)
        watch = Watch(watched, share=1.0, poll_seconds=poll_seconds)
        with watched, watch, serve(Site(watch, Access(watched), options)) as address:
            yield LiveConsole(address, service, session, watch)


@contextmanager
def serve(site: Site) -> Iterator[str]:
    """Serve a console in a thread; yield its address."""
    config = uvicorn.Config(site.application(), port=0, log_level="critical", lifespan="off")
    server, listener = ConsoleServer(config, site), config.bind_socket()
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
