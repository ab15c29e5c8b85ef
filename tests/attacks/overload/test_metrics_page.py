"""Slow, long and malformed requests to the metrics page cost no threads and do not block collectors."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tenure.process import metrics_page
from tenure.process.metrics_page import LIMITS, MetricsPage
from tenure.process.open_connections import NEW_SECONDS

from tests.telemetry.external_programs import free_port
from tests.telemetry.telemetry_server import fetch_metrics, run_telemetry_server

SLOW = 200


def threads(pid: int) -> int:
    [line] = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Threads:")
    ]
    return int(line.split()[1])


def connect(port: int) -> "closing[socket.socket]":
    return closing(socket.create_connection(("127.0.0.1", port), timeout=20))


def test_slow_connections_cost_no_threads_and_collectors_are_served(tmp_path: Path) -> None:
    port = free_port()
    with (
        run_telemetry_server(tmp_path, metricsListen=f"127.0.0.1:{port}") as (process, _),
        ExitStack() as slow,
    ):
        fetch_metrics(port)
        before = threads(process.pid)
        for _ in range(SLOW):
            slow.enter_context(connect(port)).sendall(b"GET /metrics HTTP/1.1\r\n")
        assert "process_resident_memory_bytes" in fetch_metrics(port)
        assert threads(process.pid) <= before + 1


@contextmanager
def run_page() -> Iterator[int]:
    def application(environ: dict[str, str], start_response: object) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])  # type: ignore[operator]
        return [environ["PATH_INFO"].encode()]

    page = MetricsPage(application, "127.0.0.1", 0, ["metrics.example.com"])
    try:
        yield page.port
    finally:
        page.stop()


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    found = b""
    try:
        while more := connection.recv(4_096):
            found += more
    except ConnectionResetError:
        pass
    return found


def test_the_oldest_connection_is_closed_at_the_limit() -> None:
    with run_page() as port, ExitStack() as stack:
        connections = [stack.enter_context(connect(port)) for _ in range(LIMITS.idle.most_of_a_host)]
        time.sleep(2 * NEW_SECONDS)
        newest = stack.enter_context(connect(port))
        assert read_all(connections[0]) == b""
        for connection in (connections[1], newest):
            connection.sendall(b"GET /here HTTP/1.1\r\n\r\n")
            assert read_all(connection).endswith(b"\r\n\r\n/here")


def send_slowly(connection: socket.socket, seconds: float) -> None:
    """Send bytes of a request that never ends. Raises ConnectionError when the connection is closed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connection.sendall(b"x")
        time.sleep(0.02)


def test_a_request_that_keeps_coming_slowly_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "REQUEST_SECONDS", 0.2)
    with run_page() as port, connect(port) as connection, pytest.raises(ConnectionError):
        send_slowly(connection, seconds=20)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"x" * 20_000,
        b"GET\r\n\r\n",
        b"\xff\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
    ids=["long", "one word", "binary", "many headers"],
)
def test_a_malformed_request_is_rejected(request_bytes: bytes) -> None:
    with run_page() as port, connect(port) as connection:
        connection.sendall(request_bytes)
        assert read_all(connection).startswith(b"HTTP/1.0 400 ")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 200)
            for host in ("", "127.0.0.1", "127.0.0.1:9464", "10.1.2.3:9464", "[::1]:9464", "[::1]")
        ),
        *(
            (host, 200)
            for host in ("localhost", "localhost:9464", "metrics.example.com", "METRICS.example.com:1")
        ),
        *((host, 421) for host in ("evil.example", "evil.example:9464", "localhost.evil.example", "a:b:c")),
        *((host, 421) for host in ("127.0.0.1.evil.example", "metrics.example.com.evil.example", ":80")),
    ],
)
def test_a_page_of_another_site_cannot_read_metrics_by_a_name_of_its_own(host: str, status: int) -> None:
    header = f"Host: {host}\r\n" if host else ""
    with run_page() as port, connect(port) as connection:
        connection.sendall(f"GET /here HTTP/1.1\r\n{header}\r\n".encode())
        found = read_all(connection)
    assert found.startswith(f"HTTP/1.0 {status} ".encode())
    assert found.endswith(b"/here") == (status == 200)


def test_two_headers_host_are_rejected() -> None:
    with run_page() as port, connect(port) as connection:
        connection.sendall(b"GET /here HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.0 400 ")
