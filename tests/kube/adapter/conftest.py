"""What stories of a whole adapter have in common."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.adapter.stage import Stage, staged
from tests.server.running import server_here


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with server_here() as (_, address):
        yield address


@pytest.fixture
def stage(tmp_path: Path, server: str) -> Iterator[Stage]:
    with staged(tmp_path, server, tmp_path.name) as made:
        yield made
