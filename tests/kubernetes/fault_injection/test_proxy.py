"""The proxy between adapter and API server passes calls on, records them, and injects faults."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme
from tenure.kubernetes.api.api_errors import Conflict, TooManyRequests, Unreachable
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.fault_injection.history import History, RecordedCall, RecordedRequest
from tests.kubernetes.fault_injection.lasting_faults import (
    CallsRejected,
    ResponsesLost,
    WatchesCut,
    WatchesExpired,
    any_eviction,
    status,
    writes,
)
from tests.kubernetes.fault_injection.proxy import Fault, Proxy

_EVENTS = [json.dumps({"type": "ADDED", "object": {"n": n}}).encode() for n in range(2000)]
_EVICTION = {"deleteOptions": {"preconditions": {"uid": "u"}}}


class _ApiServer(BaseHTTPRequestHandler):
    """Returns requests as responses, and all events to watches."""

    protocol_version = "HTTP/1.1"

    def _echo(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if "watch=true" not in self.path:
            self._echo()
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        for event in _EVENTS:
            self.wfile.write(event + b"\n")

    do_POST = do_PUT = _echo

    def log_message(self, format: str, *args: object) -> None: ...


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore watches that are cut."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    http = _Listener(("127.0.0.1", 0), _ApiServer)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield http.server_port
    http.shutdown()
    http.server_close()


class ProxyRig:
    """A client of the proxy, and the history that the proxy records."""

    def __init__(self, port: int, folder: Path) -> None:
        self.history = History()
        self.proxy = Proxy(port, self.history)
        self._door = self.proxy.door("one", "token", folder)
        config = self._door.__enter__()
        self.port = int(config.read_text().partition("127.0.0.1:")[2].partition("'")[0])
        self.transport = Transport(config, timeout=5)

    def close(self) -> None:
        self.transport.close()
        self._door.__exit__(None, None, None)

    def fails(self, fault: Fault) -> Fault:
        self.proxy.faults.append(fault)
        return fault

    def watched(self) -> list[bytes]:
        """Return the lines of a watch until it ends or is cut."""
        lines = []
        try:
            with self.transport.lines("/pods", {"watch": "true"}, 5) as stream:
                for line in stream:
                    lines.append(line)
        except Unreachable:
            lines.append(b"broken off")
        return lines

    @property
    def last(self) -> RecordedCall:
        return self.history.calls[-1]


@pytest.fixture
def rig(port: int, tmp_path: Path) -> Iterator[ProxyRig]:
    made = ProxyRig(port, tmp_path)
    yield made
    made.close()


def test_calls_are_forwarded_and_recorded_in_order(rig: ProxyRig) -> None:
    assert rig.transport.get("/a") == b"{}"
    assert rig.transport.post("/b", {"x": 1}) == b'{"x":1}'
    assert [(call.request.number, call.request.method, call.request.path) for call in rig.history.calls] == [
        (1, "GET", "/a"),
        (2, "POST", "/b"),
    ]
    assert rig.last.request.body == {"x": 1}
    assert (rig.last.request.actor, rig.last.status, rig.last.was_sent) == ("one", 200, True)
    assert rig.last.began <= rig.last.ended


def test_watch_is_forwarded_completely(rig: ProxyRig) -> None:
    assert rig.watched() == _EVENTS


def test_interrupted_watch_has_no_partial_lines(rig: ProxyRig) -> None:
    fault = rig.fails(WatchesCut())
    *lines, end = rig.watched()
    assert end == b"broken off"
    assert lines == _EVENTS[: len(lines)]
    assert len(lines) < len(_EVENTS)
    assert fault.has_struck.is_set()


def test_version_expires_after_the_configured_number_of_events(rig: ProxyRig) -> None:
    rig.fails(WatchesExpired(3))
    *lines, end = rig.watched()
    assert lines == _EVENTS[:3]
    assert json.loads(end)["object"]["code"] == 410


def test_every_second_write_to_a_path_is_rejected_and_not_sent(rig: ProxyRig) -> None:
    fault = rig.fails(CallsRejected(status(409, "no"), writes, 1, 2))
    rig.transport.get("/a")
    assert not fault.has_struck.is_set()
    for path in ("/a", "/b"):
        with pytest.raises(Conflict, match="no"):
            rig.transport.put(path, {})
        assert (rig.last.status, rig.last.was_sent) == (0, False)
        rig.transport.put(path, {})
    assert fault.has_struck.is_set()


def test_eviction_is_rejected_with_a_retry_delay(rig: ProxyRig) -> None:
    rig.fails(CallsRejected(status(429, "budget", **{"Retry-After": "1"}), any_eviction, 1, 1_000))
    with pytest.raises(TooManyRequests) as refused:
        rig.transport.post("/pods/p/eviction", _EVICTION)
    assert refused.value.retry_after == 1.0
    rig.transport.post("/pods/q/eviction", _EVICTION)
    assert rig.last.request.uid == "u"


def test_request_with_lost_response_was_executed(rig: ProxyRig) -> None:
    rig.fails(ResponsesLost(writes, 1, 2))
    with pytest.raises(Unreachable):
        rig.transport.post("/a", {})
    assert (rig.last.status, rig.last.is_done) == (200, True)
    rig.transport.post("/a", {})


def test_cut_response_ends_early_and_has_no_encrypted_bytes(rig: ProxyRig) -> None:
    sent = b"[%s]" % (b"1," * 1_000_000)
    request = RecordedRequest(1, "one", "POST", "/a", "", None)
    headers = {"Content-Type": "application/json"}
    with rig.proxy.requests(request, "/a", sent, headers) as response:
        received = response.read(1_000)
        rig.proxy.cut_all()
        with suppress(OSError, HTTPException):
            while piece := response.read(1_000):
                received += piece
    assert len(received) < len(sent)
    assert sent.startswith(received)


def test_absent_api_server_is_unreachable(tmp_path: Path) -> None:
    rig = ProxyRig(1, tmp_path)
    with pytest.raises(Unreachable):
        rig.transport.get("/a")
    assert (rig.last.status, rig.last.was_sent) == (0, True)
    rig.close()


def test_incomplete_request_is_not_recorded(rig: ProxyRig) -> None:
    with socket.create_connection(("127.0.0.1", rig.port)) as connection:
        connection.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert rig.history.calls == []
