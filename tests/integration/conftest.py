"""A real server for the kit."""

from collections.abc import Iterator

import pytest
from tenure.client import Client

from tests.server.servers import run_server


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as made:
        yield made
