"""The ways to send a snapshot to a server, and the response to each."""

from collections.abc import Callable, Mapping
from typing import Final

from tenure.client import Client, StateSession
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.columns import to_columns

from tests.properties.generators.draw import SeededDraw
from tests.state.column_forms import mix_columns
from tests.state.generated_snapshots import generate_next_snapshot

STEPS: Final = 5


def send_whole(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    return client.decide(snapshot)


def send_as_columns(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    return client.decide(to_columns(snapshot))


def send_mixed(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    return client.decide(mix_columns(SeededDraw(1), snapshot))


def send_in_chunks(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    session = StateSession(client)
    session.push(snapshot)
    return session.decide()


def send_earlier(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    """Push the snapshot a minute earlier, and decide at its time."""
    earlier = ClusterSnapshot()
    earlier.CopyFrom(snapshot)
    earlier.now.seconds -= 60
    session = StateSession(client)
    session.push(earlier)
    return session.decide(now=snapshot.now)


def send_by_deltas(client: Client, snapshot: ClusterSnapshot) -> DecideResponse:
    """Push another snapshot, then send deltas to this one."""
    session = StateSession(client)
    session.push(_other(snapshot))
    session.update(snapshot)
    return session.decide()


FORMS: Final[Mapping[str, Callable[[Client, ClusterSnapshot], DecideResponse]]] = {
    form.__name__: form
    for form in (send_as_columns, send_mixed, send_in_chunks, send_earlier, send_by_deltas)
}
"""All forms except a plain request."""


def _other(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """An earlier snapshot with different rows in every list."""
    draw, other = SeededDraw(2), ClusterSnapshot()
    other.CopyFrom(snapshot)
    for _ in range(STEPS):
        other = generate_next_snapshot(draw, other)
    other.version = snapshot.version - 1
    other.now.CopyFrom(snapshot.now)
    return other


def rows(snapshot: ClusterSnapshot) -> dict[str, object]:
    """Rows of each list regardless of order, and the other fields."""
    return {
        field.name: sorted(map(str, value)) if field.is_repeated else value
        for field, value in snapshot.ListFields()
    }
