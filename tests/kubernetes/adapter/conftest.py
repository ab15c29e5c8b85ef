"""Fixtures shared by tests of a complete adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.server.servers import run_server


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


@pytest.fixture
def stage(tmp_path: Path, server: str) -> Iterator[AdapterStage]:
    with open_stage(tmp_path, server, tmp_path.name) as made:
        yield made
