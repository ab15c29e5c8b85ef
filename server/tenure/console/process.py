"""The console as a process: credentials, addresses, and the web server."""

import logging
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn
from tenure.client import Client
from tenure.console.access import Access, Audience
from tenure.console.http_connections import LIMITS, REQUEST_SECONDS, LimitedProtocol
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions
from tenure.process.descriptors import raise_descriptor_limit
from tenure.process.open_connections import OpenConnections

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
DESCRIPTORS: Final = 4_096
"""Files and connections that a console may have open, if the system permits."""
_HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9a-fA-F:.]+\]")
_LOG: Final = logging.getLogger(__name__)


class ConsoleError(ValueError):
    """The console cannot or may not run like this. The message has the fix."""


class ConsoleServer(uvicorn.Server):
    """Ends open streams of events before it waits for connections to close, and returns after a signal."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as uvicorn, but do not raise them again, so that callers end what they began."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, then shut down as uvicorn does."""
        self._site.event_streams.end()
        await super().shutdown(sockets)


class ServiceConnection(NamedTuple):
    """How the console reaches the service."""

    address: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    allow_plaintext: bool = False

    def client(self, token: str | None = None) -> Client:
        """A client with the own credentials, or with the token of a reader instead."""
        return Client(
            self.address,
            timeout=15.0,
            tls_ca=self.tls_ca,
            tls_cert=None if token else self.tls_cert,
            tls_key=None if token else self.tls_key,
            token=token,
            token_file=None if token else self.token_file,
            allow_plaintext=self.allow_plaintext,
        )


class ConsoleOptions(NamedTuple):
    """Where and to which readers the console is shown."""

    listen: str = "127.0.0.1:8080"
    audience: Audience = Audience.OPERATOR
    queues: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    forward_authorization: bool = False
    allow_anonymous: bool = False


def run(connection: ServiceConnection, options: ConsoleOptions, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; call `announce` with the address of the pages.

    Raises ConsoleError, and errors of `tenure.client` for unusable credentials.
    """
    check(options)
    raise_descriptor_limit(DESCRIPTORS)
    host, port = _address(options.listen)
    client = connection.client()
    connect = partial(_with_token, connection) if options.forward_authorization else None
    access = Access(client, connect)
    with _listener(host, port) as listener, client, Watch(client) as watch:
        site = Site(watch, access, SiteOptions(options.audience, options.queues, _hosts(options)))
        server = ConsoleServer(
            uvicorn.Config(
                site.application(),
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                http=partial(LimitedProtocol, OpenConnections(LIMITS)),  # type: ignore[arg-type]  # a class
                ws="none",
                timeout_keep_alive=REQUEST_SECONDS,  # type: ignore[arg-type]  # int in uvicorn's hints
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=65_536,
                lifespan="off",
            ),
            site,
        )
        bound = listener.getsockname()
        announce(f"http://{f'[{host}]' if ':' in host else host}:{bound[1]}/")
        server.run([listener])
        access.close()


def check(options: ConsoleOptions) -> None:
    """Refuse options that would show the cluster to more people than intended."""
    host, _ = _address(options.listen)
    if options.audience is Audience.TENANT and not options.queues:
        raise ConsoleError("a console for tenants needs --queue NAME: the queues that it shows")
    if options.audience is not Audience.TENANT and options.queues:
        raise ConsoleError("--queue needs --audience tenant; operators see all queues")
    if not (is_loopback(host) or options.forward_authorization or options.allow_anonymous):
        raise ConsoleError(
            f"{options.listen!r} is not a loopback address: add --forward-authorization behind a proxy that "
            "signs people in, or --allow-anonymous on a network where every reader may see the cluster"
        )
    for name in options.hosts:
        if not _HOST.fullmatch(name):
            raise ConsoleError(
                f"--allowed-host: {name!r} is not a host name without a port, such as console.example.com, "
                "or a pattern such as *.example.com"
            )
    if not (is_loopback(host) or options.hosts):
        raise ConsoleError(
            f"{options.listen!r} is not a loopback address: add --allowed-host NAME for each host name by "
            "which browsers open the pages, else other sites could read them by a name of their own"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _with_token(connection: ServiceConnection, token: str) -> Client:
    return connection.client(token)


def _hosts(options: ConsoleOptions) -> tuple[str, ...]:
    """Accepted Host headers: other names would be DNS rebinding."""
    return (*options.hosts, *LOOPBACK_HOSTS)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ConsoleError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)  # before its address is announced
    except OSError as error:
        listener.close()
        raise ConsoleError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener
