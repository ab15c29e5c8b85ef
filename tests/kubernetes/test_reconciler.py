"""A round that came to nothing is made up for, though nothing else changes in the cluster."""

import base64
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.integration import reconciler
from tenure.integration.ports import JournalFull
from tenure.kubernetes import journal_store

from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedResponse, run_scripted_api_server
from tests.kubernetes.crash_test_cluster import AdapterRun, CrashTestCluster

_ROUNDS = 8
_SMALL = [f"small-{i}" for i in range(6)]
_DONE = {"evict low-0": 1, "evict low-1": 1, "bind high-0": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/configmaps", id="the ledger is not stored"),
        pytest.param("PUT", "/configmaps/tenure-journal", id="what was done is not stored"),
    ],
)
def test_failed_write_is_repeated_in_a_later_reconcile(
    tmp_path: Path, client: Client, method: str, path: str
) -> None:
    left = [ScriptedResponse(500, {"message": "not now"})]

    def fail_once(call: RecordedCall) -> ScriptedResponse | None:
        is_meant = call.method == method and call.path.endswith(path)
        return left.pop() if left and is_meant else None

    with run_scripted_api_server(tmp_path) as (server, transport):
        cluster = CrashTestCluster(server, tmp_path.name)
        server.rules.insert(0, fail_once)
        cluster.seconds_of_a_round = 11
        life = AdapterRun(cluster, transport, client)
        life.run(_ROUNDS)
    assert not left
    assert dict(cluster.done) == _DONE
    assert not life.ledger.entries


def test_failed_annotation_write_is_retried_soon(tmp_path: Path, client: Client) -> None:
    def refuse(call: RecordedCall) -> ScriptedResponse | None:
        return (
            ScriptedResponse(409)
            if call.method == "PATCH" and call.path.endswith("/podgroups/high")
            else None
        )

    with run_scripted_api_server(tmp_path) as (server, transport):
        cluster = CrashTestCluster(server, tmp_path.name)
        server.rules.insert(0, refuse)
        life = AdapterRun(cluster, transport, client)
        life.run(_ROUNDS)
        assert life.next_seconds is not None
        assert 0 < life.next_seconds - cluster.now().ToNanoseconds() / 1e9 <= 10
        assert cluster.annotations("high") == {}
        server.rules.remove(refuse)
        AdapterRun(cluster, transport, client).run(_ROUNDS)
    assert "kai.scheduler/last-start-timestamp" in cluster.annotations("high")


@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        pytest.param(reconciler, "MAX_IN_FLIGHT", 2, id="by the server"),
        pytest.param(reconciler, "NEW_GROUPS_SHARE", 900 / 1_000_000, id="by the ledger"),
    ],
)
def test_groups_beyond_a_limit_are_applied_once_the_limit_allows(
    tmp_path: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    limit: str,
    value: float,
) -> None:
    monkeypatch.setattr(module, limit, value)
    with run_scripted_api_server(tmp_path) as (server, transport):
        cluster = CrashTestCluster(server, tmp_path.name)
        cluster.add_waiting(*_SMALL)
        life = AdapterRun(cluster, transport, client)
        life.step()
        assert 1 <= len(life.ledger.entries) <= 3
        assert 1 <= sum(cluster.done[f"bind {name}"] for name in _SMALL) <= 3
        assert life.next_seconds is not None
        assert life.next_seconds <= cluster.now().ToNanoseconds() / 1e9 + 1
        cluster.seconds_of_a_round = 61
        life.run(_ROUNDS)
    assert dict(cluster.done) == _DONE | {f"bind {name}": 1 for name in _SMALL}
    assert not life.ledger.entries


def test_full_journal_does_not_prevent_decisions(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds what was to be done, but not what became of it."""

    def fill(call: RecordedCall) -> None:
        if call.method == "POST" and call.path.endswith("/configmaps"):
            packed = len(base64.b64decode(call.body["binaryData"]["journal"]))
            monkeypatch.setattr(journal_store, "_MAX_BYTES", packed + 10)

    with run_scripted_api_server(tmp_path) as (server, transport):
        cluster = CrashTestCluster(server, tmp_path.name)
        server.rules.insert(0, fill)
        life = AdapterRun(cluster, transport, client)
        with pytest.raises(JournalFull):
            life.step()
        life.run(_ROUNDS)
    assert dict(cluster.done) == _DONE
    assert not life.ledger.entries
