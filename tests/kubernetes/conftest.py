"""Fixtures: a fake API server, and transports for tests of applying."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.apply.scripted_api_server import ScriptedApiServer, run_scripted_api_server
from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server
from tests.server.servers import run_server


@pytest.fixture
def scripted_server(tmp_path: Path) -> Iterator[tuple[ScriptedApiServer, Transport]]:
    with run_scripted_api_server(tmp_path) as both:
        yield both


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as made:
        yield made


@pytest.fixture
def api(tmp_path: Path) -> Iterator[FakeApiServer]:
    with run_fake_api_server(tmp_path) as fake:
        yield fake


@pytest.fixture
def transport(api: FakeApiServer) -> Iterator[Transport]:
    """A transport to the fake API server, which has the namespaces of the adapter and of its users."""
    with closing(Transport(api.kubeconfig(), timeout=10)) as opened:
        for namespace in ("team", "tenure-system"):
            opened.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        api.calls.clear()
        yield opened
