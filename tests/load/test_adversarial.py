"""H11: valid snapshots that keep a search busy are answered in time, and within the budgets of steps."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tenure.client import Client
from tenure.server.engine import Engine
from tenure.v1.decision_service_pb2 import DecideRequest

from tests.load.adversarial import SNAPSHOTS, asked
from tests.server.hard import slow_profile
from tests.server.running import server_here

SIZES = {"many_small": 1_000, "many_gangs": 2_000, "victims_in_vain": 800}
SECONDS = 4.0


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with server_here(Engine(slow_profile())) as (_, address), Client(address) as client:
        yield client


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_answer_comes_within_the_deadline(name: str, client: Client) -> None:
    snapshot = SNAPSHOTS[name](SIZES[name])
    took = asked(client, snapshot, SECONDS)
    assert took.seconds <= SECONDS
    assert took.outcomes


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_search_ends_with_its_steps_and_says_so(name: str) -> None:
    profile = slow_profile()
    options = replace(profile.options, max_simulations_per_pod_group=5, max_simulations_per_action=20)
    answer = Engine(replace(profile, options=options)).decide(
        DecideRequest(snapshot=SNAPSHOTS[name](SIZES[name]))
    )
    assert not answer.stopped_early
    assert answer.counters.simulated <= 20 * len(profile.actions)
