"""A snapshot leads to the same response bytes in every form: request, chunks, columns, mixed, or deltas."""

from collections.abc import Iterator

import pytest
from tenure.client import Client
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.generators.draw import SeededDraw
from tests.server.servers import run_server
from tests.state.generated_snapshots import generate_snapshot
from tests.state.short_engine import short_engine
from tests.state.snapshot_forms import FORMS

SIZES = {"50 nodes": (50, 500), "500 nodes": (500, 5_000)}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client with so much time that no response is stopped early, however busy the machine is."""
    with run_server(short_engine()) as (_, address), Client(address, timeout=600) as client:
        yield client


@pytest.fixture(scope="module", params=SIZES)
def decide_form(request: pytest.FixtureRequest, client: Client) -> tuple[ClusterSnapshot, bytes]:
    snapshot = generate_snapshot(SeededDraw(0), *SIZES[request.param])
    return snapshot, client.decide(snapshot).SerializeToString(deterministic=True)


@pytest.mark.parametrize("form", FORMS)
def test_response_is_the_same_for_every_snapshot_form(
    client: Client, decide_form: tuple[ClusterSnapshot, bytes], form: str
) -> None:
    snapshot, expected = decide_form
    assert FORMS[form](client, snapshot).SerializeToString(deterministic=True) == expected


def test_responses_contain_every_kind_of_decision(client: Client) -> None:
    """Consolidation leaves no pod group that another one is requeued for."""
    snapshot = generate_snapshot(SeededDraw(0), 50, 500)
    answer = client.decide(snapshot)
    groups = [*answer.groups, *client.decide(snapshot, actions=["requeue"]).groups]
    steps = {decision.WhichOneof("kind") for group in groups for decision in group.decisions}
    assert steps == {"bind", "evict", "reserve", "requeue", "patch"}
    assert answer.protections
    assert answer.nominations
    assert len({status.state for status in answer.in_flight_group_statuses}) >= 4
