"""H10: crowds of connections, calls and pings keep nobody from being answered."""

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client

from tests.load.crowd import CROWDS, seconds_of_checks
from tests.load.trickle import PING, begun_connection
from tests.server.given import small_snapshot
from tests.server.hostile import MIB, resident
from tests.server.running import serving_process


@pytest.mark.parametrize(
    ("crowd", "size"), [("connections", 1_500), ("calls", 1_500), ("pings", 10_000), ("pings", 10**9)]
)
def test_health_is_answered_in_time_whoever_crowds_the_server(crowd: str, size: int) -> None:
    assert crowd in CROWDS
    with serving_process() as (process, address):
        took = seconds_of_checks(address, crowd, size, checks=50)
        assert took[len(took) // 2] < 0.5
        with Client(address, timeout=20) as client:
            assert client.decide(small_snapshot()).outcomes
        assert process.poll() is None


def test_who_pings_and_reads_no_answer_costs_no_memory() -> None:
    with serving_process() as (process, address), grpc.insecure_channel(address) as channel:
        health = HealthStub(channel)
        health.Check(HealthCheckRequest(), timeout=10)
        before = resident(process.pid)
        with begun_connection(address) as connection:
            connection.settimeout(1)
            with pytest.raises(TimeoutError):
                connection.sendall(PING * 10**7)
            assert resident(process.pid) - before < 64 * MIB
            assert health.Check(HealthCheckRequest(), timeout=10).status == HealthCheckResponse.SERVING
