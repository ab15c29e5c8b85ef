"""F14: how soon a caller has its next decision when its server is killed."""

import time
from pathlib import Path

from tenure.client import Client, StateSession

from tests.server.given import small_snapshot
from tests.server.running import serving_process
from tests.states.mortal import MortalServer


def test_next_decision_comes_within_two_seconds_from_another_server() -> None:
    with (
        serving_process() as (first, one),
        serving_process() as (_, other),
        Client(f"ipv4:{one},{other}") as client,
        StateSession(client) as session,
    ):
        session.push(small_snapshot())
        before = session.decide()
        first.kill()
        began = time.monotonic()
        assert session.decide() == before
        assert time.monotonic() - began < 2


def test_next_decision_comes_within_ten_seconds_from_the_server_that_takes_its_place(tmp_path: Path) -> None:
    with MortalServer(tmp_path) as server, Client(server.address) as client, StateSession(client) as session:
        session.push(small_snapshot())
        before = session.decide()
        server.kill()
        began = time.monotonic()
        server.start()
        assert session.decide() == before
        assert time.monotonic() - began < 10
