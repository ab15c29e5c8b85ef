"""Idle connections, from one host or many, lock no probe, scrape, page or call out of any port."""

import http.client
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client
from tenure.console.http_connections import LIMITS as CONSOLE
from tenure.integration.health import Health, HealthServer
from tenure.process.metrics_page import LIMITS as METRICS_PAGE
from tenure.process.open_connections import ConnectionCount, ConnectionLimits, host_key
from tenure.server.connections import Peer
from tenure.server.listen_address import HEALTH_PORT, MAX_PROBES_PER_CONNECTION, SERVICE_PORT
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub

from tests.attacks.overload.idle_connections import HALF_REQUEST, HTTP2, SILENT, crowd, loopback_hosts
from tests.console.console_process import process
from tests.server.security.certificate_authority import TOKEN, token_file
from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot
from tests.state.state_calls import delta
from tests.telemetry.external_programs import free_port

SIZE: Final = 2_000
HOSTS: Final = 20
PROBES_IN_A_ROW: Final = 10
_BEYOND: Final = 60
"""Connections beyond the limits."""
_LATE: Final = 2
"""Connections that gRPC has not accepted yet, or those of the test before that it has not closed yet."""
SECONDS: Final = 5
"""Timeout of a probe, as the chart sets it."""


class Port(NamedTuple):
    """One port, by the limits of its idle connections and what begins a request on it."""

    limits: ConnectionLimits
    begins_with: bytes
    probe: Callable[[str], None]


def check_health(address: str) -> None:
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        found = HealthStub(channel).Check(HealthCheckRequest(), timeout=SECONDS)
    assert found.status == HealthCheckResponse.SERVING


def get(address: str, path: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    connection.request("GET", path)
    assert connection.getresponse().status == 200
    connection.close()


PORTS: Final[Mapping[str, Port]] = {
    "health": Port(HEALTH_PORT.idle, HTTP2, check_health),
    "service": Port(SERVICE_PORT.idle, HTTP2, check_health),
    "metrics": Port(METRICS_PAGE.idle, HALF_REQUEST, lambda address: get(address, "/metrics")),
    "adapter": Port(METRICS_PAGE.idle, HALF_REQUEST, lambda address: get(address, "/healthz")),
    "console": Port(CONSOLE.idle, HALF_REQUEST, lambda address: get(address, "/healthz")),
}


@contextmanager
def run_ports(folder: Path, *arguments: str) -> Iterator[dict[str, str]]:
    """A server with all its ports, and a console; yields their addresses."""
    health, metrics = (f"127.0.0.1:{free_port()}" for _ in range(2))
    file = folder / "server.yaml"
    file.write_text(f"server: {{healthListen: '{health}'}}\ntelemetry: {{metricsListen: '{metrics}'}}\n")
    with (
        run_server_process("--config", str(file), "--no-records", *arguments) as (_, service),
        process("console", "--server", service, "--listen", "127.0.0.1:0") as (_, console),
    ):
        addresses = {"health": health, "service": service, "metrics": metrics}
        probes = HealthServer("127.0.0.1:0", Health)
        addresses["adapter"] = probes.address
        yield {**addresses, "console": console.removeprefix("http://").rstrip("/")}
        probes.close()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with run_ports(tmp_path_factory.mktemp("ports")) as found:
        yield found


@pytest.mark.parametrize(("hosts", "begins"), [(1, "silent"), (HOSTS, "begun")])
@pytest.mark.parametrize("name", PORTS)
def test_all_probes_are_answered_while_attackers_open_connections_again_and_again(
    name: str, hosts: int, begins: str, addresses: dict[str, str]
) -> None:
    port, address = PORTS[name], addresses[name]
    with crowd(address, hosts, SIZE, port.begins_with if begins == "begun" else SILENT) as attackers:
        for _ in range(PROBES_IN_A_ROW):
            time.sleep(0.2)
            port.probe(address)
        assert attackers.closed > SIZE // 2
        assert attackers.opened > SIZE


@pytest.mark.parametrize("hosts", [1, HOSTS])
@pytest.mark.parametrize("name", PORTS)
def test_idle_connections_stay_within_the_limits_of_the_port(
    name: str, hosts: int, addresses: dict[str, str]
) -> None:
    limits, begins_with, probe = PORTS[name]
    most = min(limits.most, hosts * limits.most_of_a_host)
    with ExitStack() as stack:
        held = []
        for number in range(most + _BEYOND):
            source = loopback_hosts(hosts)[number % hosts]
            connection = stack.enter_context(_connect(addresses[name], source))
            connection.sendall(begins_with)
            held.append(connection)
            if number == _BEYOND:
                time.sleep(0.3)  # gRPC tells no order of connections of one sweep
        closed = [False] * len(held)
        deadline = time.monotonic() + 4
        while sum(closed) < _BEYOND and time.monotonic() < deadline:
            time.sleep(0.1)
            closed = [_is_closed(connection) for connection in held]
        assert abs(sum(closed) - _BEYOND) <= _LATE
        assert hosts > 1 or sum(closed[:_BEYOND]) >= _BEYOND - _LATE, "the oldest are closed"
        probe(addresses[name])


@pytest.mark.parametrize(
    ("name", "begins_with", "most_seconds"),
    [
        ("health", SILENT, 8),
        ("health", HTTP2, 12),
        ("service", SILENT, 8),
        ("metrics", SILENT, 8),
        ("metrics", HALF_REQUEST, 8),
        ("console", SILENT, 8),
        ("console", HALF_REQUEST, 8),
        ("console", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 8),
    ],
)
def test_an_idle_connection_is_closed_in_seconds(
    name: str, begins_with: bytes, most_seconds: float, addresses: dict[str, str]
) -> None:
    with _connect(addresses[name], "127.0.0.1") as connection:
        connection.sendall(begins_with)
        connection.settimeout(0.2)
        deadline = time.monotonic() + most_seconds
        while not _is_closed(connection):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_request_that_keeps_coming_slowly_is_cut_off_by_the_console(addresses: dict[str, str]) -> None:
    with _connect(addresses["console"], "127.0.0.1") as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            _send_headers(connection, seconds=10)


def test_connections_without_a_token_close_none_of_a_caller(tmp_path: Path) -> None:
    tokens = token_file(tmp_path, TOKEN)
    with (
        run_server_process("--token-file", str(tokens)) as (_, address),
        grpc.insecure_channel(address) as channel,
        Client(address, token=TOKEN) as client,
    ):
        states: list[grpc.ChannelConnectivity] = []
        client.put_snapshot("epoch", small_snapshot())
        channel.subscribe(states.append)
        stub = DecisionServiceStub(channel)
        metadata = (("authorization", f"Bearer {TOKEN}"),)
        stream = stub.SyncState(_never(), metadata=metadata, timeout=60)
        time.sleep(0.5)
        assert states[-1] is grpc.ChannelConnectivity.READY
        with crowd(address, 1, 500, HTTP2) as attackers:
            for _ in range(5):
                time.sleep(0.4)
                assert client.decide(small_snapshot()).outcomes
            assert attackers.closed > SERVICE_PORT.idle.most_of_a_host
        assert stream.is_active()
        assert states[-1] is grpc.ChannelConnectivity.READY
        assert grpc.ChannelConnectivity.TRANSIENT_FAILURE not in states
        assert grpc.ChannelConnectivity.IDLE not in states[1:]
        stream.cancel()


def test_idle_connections_close_none_on_which_health_is_checked(addresses: dict[str, str]) -> None:
    with grpc.insecure_channel(addresses["service"], [("grpc.use_local_subchannel_pool", 1)]) as channel:
        health = HealthStub(channel)
        states: list[grpc.ChannelConnectivity] = []
        channel.subscribe(states.append)
        watch = health.Watch(HealthCheckRequest(), timeout=60)
        assert next(watch).status == HealthCheckResponse.SERVING
        time.sleep(0.5)  # the connection is no longer new
        with crowd(addresses["service"], 1, 500, HTTP2) as attackers:
            for _ in range(5):
                time.sleep(0.3)
                found = health.Check(HealthCheckRequest(), timeout=SECONDS)
                assert found.status == HealthCheckResponse.SERVING
            assert attackers.closed > SERVICE_PORT.idle.most_of_a_host
        assert watch.is_active()
        assert grpc.ChannelConnectivity.IDLE not in states[1:]
        watch.cancel()


def test_checks_that_never_send_their_message_delay_no_probe(addresses: dict[str, str]) -> None:
    halt, stalled = Event(), []
    with ExitStack() as stack:
        for _ in range(HEALTH_PORT.idle.most_of_a_host - 2):
            options = [("grpc.use_local_subchannel_pool", 1)]
            channel = stack.enter_context(grpc.insecure_channel(addresses["health"], options))
            grpc.channel_ready_future(channel).result(20)
            check = channel.stream_stream("/grpc.health.v1.Health/Check")
            stalled += [check(iter(halt.wait, True)) for _ in range(MAX_PROBES_PER_CONNECTION)]
        stack.callback(halt.set)
        time.sleep(0.5)  # until the server has the calls
        for _ in range(PROBES_IN_A_ROW):
            check_health(addresses["health"])


def _never() -> Iterator[object]:
    time.sleep(60)
    yield delta()


def _send_headers(connection: socket.socket, seconds: float) -> None:
    """Send headers that never end. Raises ConnectionError when the connection is closed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connection.sendall(b"a: b\r\n")
        time.sleep(0.1)


def _connect(address: str, source: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))


def _is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; reads what it sent before."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize(
    ("hosts", "closed"),
    [
        ("aa", []),
        ("aaa", [0]),
        ("aabaa", [0, 1]),
        ("aabbc", [0]),
        ("abcde", [0]),
        ("abbcd", [1]),
        ("bbaacd", [0, 2]),
    ],
)
def test_the_oldest_connection_of_the_host_with_the_most_is_closed(hosts: str, closed: list[int]) -> None:
    connections: ConnectionCount[int] = ConnectionCount(ConnectionLimits(most=4, most_of_a_host=2))
    found = [connections.add(number, host) for number, host in enumerate(hosts)]
    assert [each for each in found if each is not None] == closed
    assert len(connections) == len(hosts) - len(closed)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_host_is_an_ipv4_address_or_an_ipv6_network(address: str, host: str) -> None:
    assert host_key(address) == host


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("ipv4:10.0.0.7:40312", Peer("10.0.0.7", 40_312)),
        ("ipv6:%5B::1%5D:40312", Peer("::1", 40_312)),
        ("ipv6:[::ffff:10.0.0.7]:1", Peer("10.0.0.7", 1)),
        ("unix:", None),
        ("unix:/tmp/socket", None),
    ],
)
def test_the_peer_of_a_call_is_that_of_its_socket(text: str, peer: Peer | None) -> None:
    assert Peer.of(text) == peer
