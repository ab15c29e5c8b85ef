"""What tests of applying have in common."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.client.kubernetes.transport import Transport

from tests.kube.apply.answering import ApiServer, answering
from tests.server.running import server_here


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[ApiServer, Transport]]:
    with answering(tmp_path) as both:
        yield both


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with server_here() as (_, address), Client(address) as made:
        yield made
