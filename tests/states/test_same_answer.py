"""A snapshot gives the same bytes however it came: whole, in pieces, as columns, mixed, or by deltas."""

from collections.abc import Iterator

import pytest
from tenure.client import Client
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.draw import SeededDraw
from tests.server.running import server_here
from tests.states.engine import short_engine
from tests.states.forms import FORMS
from tests.states.made import made_snapshot

SIZES = {"50 nodes": (50, 500), "500 nodes": (500, 5_000)}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with server_here(short_engine()) as (_, address), Client(address) as client:
        yield client


@pytest.fixture(scope="module", params=SIZES)
def asked(request: pytest.FixtureRequest, client: Client) -> tuple[ClusterSnapshot, bytes]:
    snapshot = made_snapshot(SeededDraw(0), *SIZES[request.param])
    return snapshot, client.decide(snapshot).SerializeToString(deterministic=True)


@pytest.mark.parametrize("form", FORMS)
def test_answer_is_the_same_however_the_snapshot_came(
    client: Client, asked: tuple[ClusterSnapshot, bytes], form: str
) -> None:
    snapshot, expected = asked
    assert FORMS[form](client, snapshot).SerializeToString(deterministic=True) == expected


def test_answers_have_something_to_compare(client: Client) -> None:
    answer = client.decide(made_snapshot(SeededDraw(0), 50, 500))
    steps = {decision.WhichOneof("step") for group in answer.groups for decision in group.decisions}
    assert steps == {"bind", "evict", "hold", "requeue", "patch"}
    assert answer.protections
    assert answer.nominations
    assert len({status.result for status in answer.in_flight_groups}) >= 4
