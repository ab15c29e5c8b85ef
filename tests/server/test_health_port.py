"""A second address answers health and nothing else, whatever the first one asks of its callers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckResponse
from tenure.server.engine import Engine
from tenure.server.listening import ListenError
from tenure.server.security.guard import OPEN, Guard
from tenure.server.serving import Server
from tenure.server.settings import Security, ServerLimits, load_settings
from tenure.solver.registry import default_profile

from tests.kube.processes import free_port
from tests.server.authority import Authority
from tests.server.running import server_here, serving_process
from tests.server.test_health import NAMES, health

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


@contextmanager
def server_with_health_port(guard: Guard = OPEN) -> Iterator[tuple[Server, grpc.Channel]]:
    server = Server(Engine(default_profile()), ServerLimits(), guard)
    address = server.answer_health("127.0.0.1:0")
    with grpc.insecure_channel(address) as channel:
        yield server, channel
    server.drain()


def test_it_follows_the_server_from_before_the_start_to_the_drain() -> None:
    with server_with_health_port() as (server, channel):
        assert [health(channel, name) for name in NAMES] == [NOT_SERVING] * 2
        server.start("127.0.0.1:0")
        assert [health(channel, name) for name in NAMES] == [SERVING] * 2
        server.set_ready(False)
        assert [health(channel, name) for name in NAMES] == [NOT_SERVING] * 2


def test_it_speaks_clear_text_where_the_server_wants_certificates(tmp_path: Path) -> None:
    ours = Authority(tmp_path)
    guard = Guard.of(Security.model_construct(tls_client_ca=ours.file, **ours.server()))
    with server_with_health_port(guard) as (server, channel):
        server.start("127.0.0.1:0")
        assert health(channel) == SERVING


@pytest.mark.parametrize(
    "method",
    [
        "/tenure.v1.DecisionService/GetCapabilities",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ],
)
def test_it_answers_nothing_else(method: str) -> None:
    with server_with_health_port() as (_, channel):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(method)(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_taken_address_is_named() -> None:
    with server_here() as (_, taken):
        server = Server(Engine(default_profile()), ServerLimits())
        with pytest.raises(ListenError, match=f"cannot listen on {taken}: it is taken"):
            server.answer_health(taken)


def test_a_process_listens_where_its_configuration_says(tmp_path: Path) -> None:
    file, address = tmp_path / "tenure.yaml", f"127.0.0.1:{free_port()}"
    file.write_text(json.dumps({"server": {"healthListen": address}, "records": {"enabled": False}}))
    assert load_settings(file).security.health_listen == address
    with serving_process("--config", str(file)), grpc.insecure_channel(address) as channel:
        assert health(channel) == SERVING
