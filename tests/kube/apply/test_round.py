"""A round that came to nothing is made up for, though nothing else changes in the cluster."""

import base64
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.client.kubernetes import round as rounds
from tenure.client.kubernetes.ledger import store
from tenure.client.kubernetes.ledger.store import LedgerFull

from tests.kube.apply.answering import Answer, Call, answering
from tests.kube.apply.mortal import Life, MortalCluster

_ROUNDS = 8
_SMALL = [f"small-{i}" for i in range(6)]
_DONE = {"evict low-0": 1, "evict low-1": 1, "bind high-0": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/configmaps", id="the ledger is not stored"),
        pytest.param("PUT", "/configmaps/tenure-ledger", id="what was done is not stored"),
    ],
)
def test_what_failed_once_comes_about_in_a_later_round(
    tmp_path: Path, client: Client, method: str, path: str
) -> None:
    left = [Answer(500, {"message": "not now"})]

    def fail_once(call: Call) -> Answer | None:
        is_meant = call.method == method and call.path.endswith(path)
        return left.pop() if left and is_meant else None

    with answering(tmp_path) as (server, transport):
        cluster = MortalCluster(server, tmp_path.name)
        server.rules.insert(0, fail_once)
        cluster.seconds_of_a_round = 11
        life = Life(cluster, transport, client)
        life.run(_ROUNDS)
    assert not left
    assert dict(cluster.done) == _DONE
    assert not life.ledger.entries


def test_a_time_that_is_not_written_down_is_tried_again_soon(tmp_path: Path, client: Client) -> None:
    def refuse(call: Call) -> Answer | None:
        return Answer(409) if call.method == "PATCH" and call.path.endswith("/podgroups/high") else None

    with answering(tmp_path) as (server, transport):
        cluster = MortalCluster(server, tmp_path.name)
        server.rules.insert(0, refuse)
        life = Life(cluster, transport, client)
        life.run(_ROUNDS)
        assert life.next_seconds is not None
        assert 0 < life.next_seconds - cluster.now().ToNanoseconds() / 1e9 <= 10
        assert cluster.annotations("high") == {}
        server.rules.remove(refuse)
        Life(cluster, transport, client).run(_ROUNDS)
    assert "kai.scheduler/last-start-timestamp" in cluster.annotations("high")


@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        pytest.param(rounds, "MOST_UNDER_WAY", 2, id="by the server"),
        pytest.param(store, "ROOM_BYTES", 900, id="by the ledger"),
    ],
)
def test_of_groups_that_are_too_many_some_are_begun_and_the_others_when_there_is_room(
    tmp_path: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(module, limit, value)
    with answering(tmp_path) as (server, transport):
        cluster = MortalCluster(server, tmp_path.name)
        cluster.add_waiting(*_SMALL)
        life = Life(cluster, transport, client)
        life.step()
        assert 1 <= len(life.ledger.entries) <= 3
        assert 1 <= sum(cluster.done[f"bind {name}"] for name in _SMALL) <= 3
        assert life.next_seconds is not None
        assert life.next_seconds <= cluster.now().ToNanoseconds() / 1e9 + 1
        cluster.seconds_of_a_round = 61
        life.run(_ROUNDS)
    assert dict(cluster.done) == _DONE | {f"bind {name}": 1 for name in _SMALL}
    assert not life.ledger.entries


def test_a_ledger_that_grows_too_large_keeps_nothing_from_being_decided(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds what was to be done, but not what became of it."""

    def fill(call: Call) -> None:
        if call.method == "POST" and call.path.endswith("/configmaps"):
            packed = len(base64.b64decode(call.body["binaryData"]["ledger"]))
            monkeypatch.setattr(store, "MOST_BYTES", packed + 10)

    with answering(tmp_path) as (server, transport):
        cluster = MortalCluster(server, tmp_path.name)
        server.rules.insert(0, fill)
        life = Life(cluster, transport, client)
        with pytest.raises(LedgerFull):
            life.step()
        life.run(_ROUNDS)
    assert dict(cluster.done) == _DONE
    assert not life.ledger.entries
