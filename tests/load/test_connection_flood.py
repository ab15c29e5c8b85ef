"""H10: floods of connections, calls and pings do not block other callers."""

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client

from tests.attacks.hostile_requests import MIB, resident_bytes
from tests.load.connection_flood import FLOODS, seconds_of_checks
from tests.load.slow_caller import PING, begin_connection
from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("crowd", "size"),
    [("open_connections", 1_500), ("begin_calls", 1_500), ("send_pings", 10_000), ("send_pings", 10**9)],
)
def test_health_check_responds_in_time_during_a_flood(crowd: str, size: int) -> None:
    assert crowd in FLOODS
    with run_server_process() as (process, address):
        took = seconds_of_checks(address, crowd, size, checks=50)
        assert took[len(took) // 2] < 0.5
        with Client(address, timeout=20) as client:
            assert client.decide(small_snapshot()).outcomes
        assert process.poll() is None


def test_pings_without_reading_responses_use_no_memory() -> None:
    with run_server_process() as (process, address), grpc.insecure_channel(address) as channel:
        health = HealthStub(channel)
        health.Check(HealthCheckRequest(), timeout=10)
        before = resident_bytes(process.pid)
        with begin_connection(address) as connection:
            connection.settimeout(1)
            with pytest.raises(TimeoutError):
                connection.sendall(PING * 10**7)
            assert resident_bytes(process.pid) - before < 64 * MIB
            assert health.Check(HealthCheckRequest(), timeout=10).status == HealthCheckResponse.SERVING
