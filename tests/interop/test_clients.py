"""Clients built from the contract can use the server: in Go, by reflection, in Python."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.clients import NEEDED
from tests.server.servers import run_server_process


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with run_server_process() as (_, address):
        yield address


@pytest.mark.parametrize(("ask", "needed"), NEEDED.items(), ids=[ask.__name__ for ask in NEEDED])
def test_client(ask: Callable[[str], str], needed: Path | None, address: str) -> None:
    if needed is not None and not needed.exists():
        pytest.skip(f"{needed} is not there: python -m tests build go-client (needs Go and Node)")
    assert ask(address)
