"""Threads of the server share the arenas of the C library, so freed memory is used again by all of them."""

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from tenure.client import Client

from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot

HEAP_BYTES: Final = 64 * 2**20
"""Address space that the GNU C library takes for an arena beyond the first."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the mappings of a process")


def _mappings(process: int) -> Iterator[tuple[int, int, str]]:
    """First and last address of each mapping, and its rights."""
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        addresses, rights, *_ = line.split()
        first, last = (int(each, 16) for each in addresses.split("-"))
        yield first, last, rights


def _arenas(process: int) -> int:
    """Count the arenas beyond the first. Each is an aligned heap whose unused end is reserved."""
    mappings = list(_mappings(process))
    return sum(
        first % HEAP_BYTES == 0 and last == begin and end == first + HEAP_BYTES and rights == "---p"
        for (first, last, _), (begin, end, rights) in pairwise(mappings)
    )


def _arenas_of_server() -> int:
    with run_server_process() as (process, address), Client(address) as client:
        for number in range(20):
            client.put_snapshot(f"e-{number}", small_snapshot())
        return _arenas(process.pid)


def test_threads_share_two_arenas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert _arenas_of_server() == 1


def test_the_environment_sets_another_number(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setenv("MALLOC_ARENA_MAX", "5")
    assert _arenas_of_server() > 1
