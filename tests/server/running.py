"""A real server on a free port of this machine, in this process or in one of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from tenure.server.serving import Server
from tenure.server.settings import Settings, load_settings
from tests.server.given import environment


@contextmanager
def server_here(settings: Settings | None = None) -> Iterator[str]:
    """A server in this process, drained afterwards; its address."""
    server = Server(settings or load_settings(None))
    address = server.start("127.0.0.1:0")
    try:
        yield address
    finally:
        server.drain()


@contextmanager
def serving_process(*arguments: str, **variables: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`tenure serve` on a free port, killed afterwards if it still runs; the process and its address."""
    command = [sys.executable, "-m", "tenure.server", "serve", "--listen", "127.0.0.1:0", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment(**variables), stdout=pipe, stderr=pipe, text=True, cwd=Path.cwd()
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


@contextmanager
def channel_to(address: str) -> Iterator[grpc.Channel]:
    """A plain channel, for what the client does not do."""
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
        yield channel
