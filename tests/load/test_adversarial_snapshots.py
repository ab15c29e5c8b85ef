"""H11: valid snapshots with expensive searches get a response in time and within the search budgets."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.v1.decide_pb2 import DecideRequest

from tests.load.adversarial_snapshots import SNAPSHOTS, measure_decide
from tests.server.servers import run_server
from tests.server.slow_search import slow_profile

pytestmark = pytest.mark.long

SIZES = {"many_small_pod_groups": 1_000, "many_large_gangs": 2_000, "insufficient_victims": 800}
SECONDS = 4.0


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server(Engine(slow_profile())) as (_, address), Client(address) as client:
        yield client


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_response_arrives_within_the_deadline(name: str, client: Client) -> None:
    snapshot = SNAPSHOTS[name](SIZES[name])
    took = measure_decide(client, snapshot, SECONDS)
    assert took.seconds <= SECONDS
    assert took.outcomes


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_search_ends_within_its_budget_and_reports_it(name: str) -> None:
    profile = slow_profile()
    options = replace(profile.options, max_simulations_per_pod_group=5, max_simulations_per_action=20)
    answer = Engine(replace(profile, options=options)).decide(
        DecideRequest(snapshot=SNAPSHOTS[name](SIZES[name]))
    )
    assert not answer.summary.stopped_early
    assert answer.summary.counters["simulated"] <= 20 * len(profile.actions)
