"""Health and reflection: probes get correct results, also while a cycle runs and while the server drains."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from tenure.client import Client, Unavailable
from tenure.v1.decide_pb2 import DecideRequest

from tests.server.servers import BlockingEngine, run_server, run_server_process
from tests.server.slow_search import NODES, SLOW_OPTIONS, slow_search_snapshot
from tests.small_snapshot import small_snapshot

NAMES = ["", "tenure.v1.DecisionService"]


def health(channel: grpc.Channel, name: str = "") -> int:
    status: int = HealthStub(channel).Check(HealthCheckRequest(service=name), timeout=5).status
    return status


def empty_request_error(channel: grpc.Channel) -> grpc.Call:
    """Return the error of an empty request, which does not wait for the engine."""
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary("/tenure.v1.DecisionService/ReportResults")(b"", timeout=5)
    assert isinstance(refused.value, grpc.Call)
    return refused.value


@pytest.mark.parametrize("name", NAMES)
def test_server_and_service_are_serving(name: str) -> None:
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        assert health(channel, name) == HealthCheckResponse.SERVING


def test_unknown_service_is_not_found() -> None:
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            health(channel, "no.Such")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_services() -> None:
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        requests = iter([ServerReflectionRequest(list_services="")])
        (answer,) = ServerReflectionStub(channel).ServerReflectionInfo(requests, timeout=5)
    assert sorted(service.name for service in answer.list_services_response.service) == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "tenure.v1.DecisionService",
    ]


def test_health_check_responds_while_calls_fill_the_queue() -> None:
    engine = BlockingEngine()
    with (
        run_server(engine, max_queued_calls=3) as (_, address),
        grpc.insecure_channel(address) as channel,
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        calls = [pool.submit(client.decide, small_snapshot()) for _ in range(4)]
        assert engine.entered.acquire(timeout=10)
        assert health(channel) == HealthCheckResponse.SERVING
        engine.release.set()
        assert all(call.result(10).outcomes for call in calls)


def test_health_check_responds_while_a_cycle_runs(tmp_path: Path) -> None:
    config = tmp_path / "slow.yaml"
    config.write_text(SLOW_OPTIONS)
    with (
        run_server_process("--config", str(config)) as (_, address),
        grpc.insecure_channel(address) as channel,
        ThreadPoolExecutor() as pool,
    ):
        request = DecideRequest(snapshot=slow_search_snapshot(NODES), actions=["reclaim"])
        decide = channel.unary_unary("/tenure.v1.DecisionService/Decide")
        cycle = pool.submit(decide, request.SerializeToString(), timeout=60)
        checks = 0
        while not cycle.done():
            assert health(channel) == HealthCheckResponse.SERVING
            checks += 1
        assert cycle.result()
        assert checks >= 10


def test_server_that_is_not_ready_is_not_serving() -> None:
    with run_server() as (server, address), grpc.insecure_channel(address) as channel:
        server.set_ready(False)
        assert [health(channel, name) for name in NAMES] == [HealthCheckResponse.NOT_SERVING] * 2
        server.set_ready(True)
        assert [health(channel, name) for name in NAMES] == [HealthCheckResponse.SERVING] * 2


def test_draining_server_is_not_serving_rejects_calls_and_completes_those_in_flight() -> None:
    engine = BlockingEngine()
    with (
        run_server(engine) as (server, address),
        grpc.insecure_channel(address) as channel,
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        watched = HealthStub(channel).Watch(HealthCheckRequest())
        assert next(watched).status == HealthCheckResponse.SERVING
        in_flight = pool.submit(client.decide, small_snapshot())
        assert engine.entered.acquire(timeout=10)
        drained = pool.submit(server.drain)
        assert next(watched).status == HealthCheckResponse.NOT_SERVING
        assert [health(channel, name) for name in NAMES] == [HealthCheckResponse.NOT_SERVING] * 2
        while (refused := empty_request_error(channel)).code() is grpc.StatusCode.INVALID_ARGUMENT:
            pass  # health changes first, so that callers can stop sending before calls are rejected
        assert refused.code() is grpc.StatusCode.UNAVAILABLE
        assert "the server is draining; retry" in str(refused)
        watched.cancel()
        assert not drained.done()
        engine.release.set()
        assert in_flight.result(10).outcomes
        drained.result(10)


@pytest.mark.long
def test_call_beyond_the_drain_timeout_is_aborted(caplog: pytest.LogCaptureFixture) -> None:
    engine = BlockingEngine()
    with (
        run_server(engine, drain_timeout=10**8) as (server, address),
        Client(address) as client,
        ThreadPoolExecutor() as pool,
    ):
        in_flight = pool.submit(client.decide, small_snapshot(), (), 10)
        assert engine.entered.acquire(timeout=10)
        server.drain()
        assert isinstance(in_flight.exception(15), Unavailable)
        engine.release.set()
    assert "still in flight after 0.1 seconds" in caplog.text
