"""Plaintext is restricted to loopback addresses, unless it is allowed explicitly."""

import pytest
from tenure.codec.engine import Engine
from tenure.server.grpc_server import GrpcServer
from tenure.server.listen_address import ListenError, check_listen_address
from tenure.server.settings import ServerLimits
from tenure.solver.registry import default_profile

from tests.server.servers import run_server


@pytest.mark.parametrize(
    "address", ["127.0.0.1:0", "127.9.9.9:50051", "localhost:1", "[::1]:65535", "unix:/run/tenure.sock"]
)
def test_loopback_address_is_allowed(address: str) -> None:
    check_listen_address(address, allow_plaintext=False)


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "scheduler:1", ":50051", "*:1"])
def test_other_address_requires_the_plaintext_option(address: str) -> None:
    with pytest.raises(ListenError, match="--allow-plaintext"):
        check_listen_address(address, allow_plaintext=False)
    check_listen_address(address, allow_plaintext=True)


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "::1"]
)
def test_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ListenError, match="is not HOST:PORT"):
        check_listen_address(address, allow_plaintext=True)


def test_port_in_use_is_named() -> None:
    with run_server() as (_, address), pytest.raises(ListenError, match=f"on {address}: in use"):
        GrpcServer(Engine(default_profile()), ServerLimits()).start(address)


def test_unix_socket_is_served(tmp_path_factory: pytest.TempPathFactory) -> None:
    address = f"unix:{tmp_path_factory.mktemp('s')}/tenure.sock"
    server = GrpcServer(Engine(default_profile()), ServerLimits())
    assert server.start(address) == address
    server.drain()
