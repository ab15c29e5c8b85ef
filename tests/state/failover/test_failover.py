"""F14: time from killing a server to the next decision for its caller."""

import time
from pathlib import Path

import pytest
from tenure.client import Client, StateSession

from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot
from tests.state.failover.restartable_server import RestartableServer

pytestmark = pytest.mark.long


def test_another_server_decides_within_two_seconds() -> None:
    with (
        run_server_process() as (first, one),
        run_server_process() as (_, other),
        Client(f"ipv4:{one},{other}") as client,
        StateSession(client) as session,
    ):
        session.push(small_snapshot())
        before = session.decide()
        first.kill()
        began = time.monotonic()
        assert session.decide() == before
        assert time.monotonic() - began < 2


def test_replacement_server_decides_within_ten_seconds(tmp_path: Path) -> None:
    with (
        RestartableServer(tmp_path) as server,
        Client(server.address) as client,
        StateSession(client) as session,
    ):
        session.push(small_snapshot())
        before = session.decide()
        server.kill()
        began = time.monotonic()
        server.start()
        assert session.decide() == before
        assert time.monotonic() - began < 10
