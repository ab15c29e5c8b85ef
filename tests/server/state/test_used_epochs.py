"""An epoch of an earlier push is refused, so that a version never means two snapshots."""

from collections.abc import Iterator

import pytest
from tenure.client import Client, InvalidSnapshot, TenureError
from tenure.server.memory import MemoryExhausted
from tenure.server.state import store
from tenure.server.state.state import State
from tenure.server.state.used_epochs import MAX_EPOCHS

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


@pytest.fixture
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as made:
        yield made


def test_used_epoch_is_refused_and_named(client: Client) -> None:
    first, later = small_snapshot(), small_snapshot()
    later.version += 1
    client.put_snapshot("one", first)
    client.put_snapshot("two", later)
    with pytest.raises(InvalidSnapshot, match="epoch: 'one' was used by an earlier push"):
        client.put_snapshot("one", later)
    assert client.get_state(first.cluster_id)[0].epoch == "two"


def test_same_push_may_be_repeated(client: Client) -> None:
    snapshot = small_snapshot()
    assert client.put_snapshot("one", snapshot) == client.put_snapshot("one", snapshot)


def test_same_version_with_other_rows_is_another_push(client: Client) -> None:
    snapshot = small_snapshot()
    client.put_snapshot("one", snapshot)
    snapshot.pods[0].name = f"x{snapshot.pods[0].name[1:]}"  # of the same size
    with pytest.raises(InvalidSnapshot, match="was used"):
        client.put_snapshot("one", snapshot)


def test_push_that_was_too_large_uses_no_epoch(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = small_snapshot()
    with monkeypatch.context() as patched:
        patched.setattr(store, "check_memory", _too_large)
        with pytest.raises(TenureError):
            client.put_snapshot("one", snapshot)
    snapshot.version += 1
    client.put_snapshot("one", snapshot)


def _too_large(_state: State, _max_bytes: int) -> None:
    raise MemoryExhausted


def test_other_node_pools_have_epochs_of_their_own(client: Client) -> None:
    snapshot = small_snapshot()
    client.put_snapshot("one", snapshot)
    snapshot.node_pool = "other"
    snapshot.version += 1
    client.put_snapshot("one", snapshot)


def test_oldest_epochs_are_forgotten(client: Client) -> None:
    snapshot = small_snapshot()
    for number in range(MAX_EPOCHS + 1):
        snapshot.version += 1
        client.put_snapshot(f"epoch-{number}", snapshot)
    snapshot.version += 1
    client.put_snapshot("epoch-0", snapshot)
