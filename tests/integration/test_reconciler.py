"""The reconciler recovers from failures, also when nothing else changes in the cluster."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import Client
from tenure.integration import reconciler
from tenure.integration.fake_scheduler import START_SECONDS, FakeAdapter, FakeScheduler
from tenure.integration.ports import (
    ApplyResult,
    ClusterError,
    JournalConflict,
    JournalFull,
    LeaseLost,
    failed,
    precondition_failed,
    retry,
)
from tenure.integration.testing import CRASH_EFFECTS, crash_scenario
from tenure.v1.decision_pb2 import DecisionGroup
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE

_SMALL = [f"small-{i}" for i in range(6)]


@pytest.fixture
def scheduler(request: pytest.FixtureRequest) -> FakeScheduler:
    return FakeScheduler(crash_scenario(request.node.name, START_SECONDS))


def add_small_pods(scheduler: FakeScheduler) -> None:
    scheduler.rows.shapes.add(id="small", requests={"cpu_milli": 100, "memory_bytes": 1})
    for name in _SMALL:
        created = Timestamp(seconds=START_SECONDS)
        row = scheduler.rows.pod_groups.add(uid=name, name=name, queue="q", min_member=1, priority=50)
        row.creation_time.CopyFrom(created)
        row.preemptibility = PREEMPTIBILITY_PREEMPTIBLE
        scheduler.rows.pods.add(uid=name, pod_group=name, shape="small", status="POD_STATUS_PENDING")


def run(adapter: FakeAdapter, scheduler: FakeScheduler, seconds: float = 0.0) -> None:
    for _ in range(10):
        with suppress(ClusterError, JournalFull, LeaseLost):
            adapter.reconcile()
        scheduler.pass_time(seconds)


def seconds_to_next(adapter: FakeAdapter, scheduler: FakeScheduler) -> float:
    due = adapter.reconciler.next_reconcile_seconds
    assert due is not None
    return due - scheduler.now().ToNanoseconds() / 1e9


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("save", ClusterError("not now")),
        ("report", ClusterError("not now")),
        ("patch low", ClusterError("not now")),
        ("evict low-0", retry("a disruption budget", after=1)),
        ("evict low-1", retry("a disruption budget")),
        ("bind high-0", retry("overloaded")),
        ("evict low-0", LeaseLost()),
    ],
)
def test_failed_write_is_repeated_in_a_later_reconcile(
    scheduler: FakeScheduler, client: Client, name: str, failure: Exception | ApplyResult
) -> None:
    scheduler.failures.append((name, failure))
    adapter = scheduler.start(client)
    run(adapter, scheduler, seconds=11)
    adapter.close()
    assert not scheduler.failures
    assert dict(scheduler.applied) == CRASH_EFFECTS
    assert not adapter.journal.entries
    assert not adapter.journal.pending_patches


def test_failed_patch_write_is_retried_soon(scheduler: FakeScheduler, client: Client) -> None:
    scheduler.failures += [("patch high", ClusterError("conflict"))] * 20
    adapter = scheduler.start(client)
    run(adapter, scheduler)
    assert 0 < seconds_to_next(adapter, scheduler) <= 10
    adapter.close()
    assert not scheduler.stored_pod_group("high").HasField("last_start_time")
    scheduler.failures.clear()
    successor = scheduler.start(client)
    run(successor, scheduler)
    successor.close()
    assert scheduler.stored_pod_group("high").HasField("last_start_time")


def test_rejected_all_or_nothing_group_is_decided_again_later(
    scheduler: FakeScheduler, client: Client
) -> None:
    scheduler.failures.append(("evict low-0", precondition_failed("the pod moved")))
    adapter = scheduler.start(client)
    adapter.reconcile()
    assert scheduler.calls == ["save", "report", "save"]
    assert seconds_to_next(adapter, scheduler) <= 1
    run(adapter, scheduler, seconds=61)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS


@pytest.mark.parametrize("last", [precondition_failed("the pod moved"), failed("a policy")])
def test_decision_that_fails_for_good_at_a_retry_is_decided_again_later(
    scheduler: FakeScheduler, client: Client, last: ApplyResult
) -> None:
    scheduler.failures += [("evict low-0", retry("overloaded", after=5)), ("evict low-0", last)]
    adapter = scheduler.start(client)
    adapter.reconcile()
    scheduler.pass_time(6)
    adapter.reconcile()
    assert not scheduler.failures
    assert seconds_to_next(adapter, scheduler) <= 1
    run(adapter, scheduler, seconds=61)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        pytest.param("MAX_IN_FLIGHT", 2, id="by the server"),
        pytest.param("NEW_GROUPS_SHARE", 700 / 1_000_000, id="by the journal"),
    ],
)
def test_groups_beyond_a_limit_are_applied_once_the_limit_allows(
    scheduler: FakeScheduler, client: Client, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(reconciler, limit, value)
    add_small_pods(scheduler)
    adapter = scheduler.start(client)
    adapter.reconcile()
    assert 1 <= len(adapter.journal.entries) <= 3
    assert 1 <= sum(scheduler.applied[f"bind {name}"] for name in _SMALL) <= 3
    assert seconds_to_next(adapter, scheduler) <= 1
    run(adapter, scheduler, seconds=61)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS | {f"bind {name}": 1 for name in _SMALL}
    assert not adapter.journal.entries


def test_full_journal_does_not_prevent_decisions(scheduler: FakeScheduler, client: Client) -> None:
    """The journal has space for the new group, but not for its results."""
    adapter = scheduler.start(client)
    first_save = scheduler.save

    def fill(content: bytes) -> None:
        first_save(content)
        scheduler.max_bytes = min(scheduler.max_bytes, len(content) + 10)

    scheduler.save = fill  # type: ignore[method-assign]
    with pytest.raises(JournalFull):
        adapter.reconcile()
    run(adapter, scheduler)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS
    assert not adapter.journal.entries


def test_nothing_is_sent_when_another_adapter_replaced_the_journal(
    scheduler: FakeScheduler, client: Client
) -> None:
    adapter = scheduler.start(client)
    scheduler.replace_journal()
    with pytest.raises(JournalConflict):
        adapter.reconcile()
    adapter.close()
    assert scheduler.calls == []
    assert not adapter.journal.entries


def test_nothing_is_sent_without_leadership(scheduler: FakeScheduler, client: Client) -> None:
    adapter = scheduler.start(client)
    scheduler.is_leader = False
    with pytest.raises(LeaseLost):
        adapter.reconcile()
    assert scheduler.calls == []
    scheduler.is_leader = True
    run(adapter, scheduler)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS


def test_reconcile_without_changes_requests_no_decision(scheduler: FakeScheduler, client: Client) -> None:
    adapter = scheduler.start(client)
    run(adapter, scheduler)
    assert not adapter.reconciler.run_once()
    adapter.close()


def test_decisions_tell_starts_once_in_an_interval_r17_24(
    scheduler: FakeScheduler, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    decide_state = client.decide_state

    def decide(*args: object) -> object:
        asked.append(bool(args[-1]))
        return decide_state(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(client, "decide_state", decide)
    adapter = scheduler.start(client)
    reconciler = adapter.reconciler
    reconciler._cluster = replace(reconciler._cluster, estimate_interval=60.0)
    for _ in range(4):
        reconciler._has_unfinished_work = True
        reconciler.run_once()
        run(adapter, scheduler, 40.0)
    adapter.close()
    assert asked[0]
    assert 2 <= sum(asked) < len(asked)


def test_group_whose_beneficiary_the_cluster_would_not_start_evicts_nothing(
    scheduler: FakeScheduler, client: Client
) -> None:
    adapter = scheduler.start(client)
    own = adapter.reconciler._cluster
    refused: list[str] = []

    def find_refusals(groups: Sequence[DecisionGroup]) -> dict[str, str]:
        found = {group.id: "a limit" for group in groups if group.beneficiary == "high" and not refused}
        refused.extend(found)
        return found

    adapter.reconciler._cluster = replace(own, find_refusals=find_refusals)
    adapter.reconcile()
    assert refused
    assert not scheduler.applied
    run(adapter, scheduler, seconds=61)
    adapter.close()
    assert dict(scheduler.applied) == CRASH_EFFECTS
