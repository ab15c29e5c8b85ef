"""The health address serves only health, whatever credentials the main address requires."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckResponse
from tenure.codec.engine import Engine
from tenure.server.grpc_server import GrpcServer
from tenure.server.listen_address import ListenError
from tenure.server.security.access_control import OPEN, AccessControl
from tenure.server.settings import Security, ServerLimits, load_settings
from tenure.solver.registry import default_profile

from tests.child_processes import free_port
from tests.server.security.certificate_authority import CertificateAuthority
from tests.server.servers import run_server, run_server_process
from tests.server.test_grpc_server_health import NAMES, health

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


@contextmanager
def server_with_health_port(guard: AccessControl = OPEN) -> Iterator[tuple[GrpcServer, grpc.Channel]]:
    server = GrpcServer(Engine(default_profile()), ServerLimits(), guard)
    address = server.add_health_port("127.0.0.1:0")
    with grpc.insecure_channel(address) as channel:
        yield server, channel
    server.drain()


def test_health_port_follows_the_server_from_start_to_drain() -> None:
    with server_with_health_port() as (server, channel):
        assert [health(channel, name) for name in NAMES] == [NOT_SERVING] * 2
        server.start("127.0.0.1:0")
        assert [health(channel, name) for name in NAMES] == [SERVING] * 2
        server.set_ready(False)
        assert [health(channel, name) for name in NAMES] == [NOT_SERVING] * 2


def test_health_port_is_plaintext_when_the_server_requires_certificates(tmp_path: Path) -> None:
    ours = CertificateAuthority(tmp_path)
    guard = AccessControl.of(Security.model_construct(tls_client_ca=ours.file, **ours.server()))
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
def test_health_port_serves_no_other_method(method: str) -> None:
    with server_with_health_port() as (_, channel):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(method)(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_address_in_use_is_named() -> None:
    with run_server() as (_, taken):
        server = GrpcServer(Engine(default_profile()), ServerLimits())
        with pytest.raises(ListenError, match=f"cannot listen on {taken}: in use"):
            server.add_health_port(taken)


def test_process_listens_on_the_configured_health_address(tmp_path: Path) -> None:
    file, address = tmp_path / "tenure.yaml", f"127.0.0.1:{free_port()}"
    file.write_text(json.dumps({"server": {"healthListen": address}, "records": {"enabled": False}}))
    assert load_settings(file).security.health_listen == address
    with run_server_process("--config", str(file)), grpc.insecure_channel(address) as channel:
        assert health(channel) == SERVING
