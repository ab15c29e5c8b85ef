"""ReportResults on a real server: counted once, identical after a restart, rejected with field violations."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tenure.client import Client, InvalidSnapshot
from tenure.server.reports import ReportConflict, ReportHistory
from tenure.server.shard import Shard
from tenure.v1 import report_pb2 as pb

from tests.server.records.recorded_cycles import decide, draw_snapshots, recorder, rows
from tests.server.reports.group_reports import (
    APPLIED,
    BINDING,
    EVICTING,
    FAILED,
    LATER,
    STALE,
    report,
    request,
)
from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import Counts, count_metrics

SHARD = Shard("c", "p")


@pytest.fixture
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as client:
        count_metrics()
        yield client


def counts() -> Counts:
    return {key[1:]: number for key, number in count_metrics("tenure_decision_results_total").items()}


def test_repeated_report_gets_the_same_response_and_counts_once(client: Client) -> None:
    asked = request(report(EVICTING, e1=APPLIED, e2=STALE))
    answers = {client.report_results(asked).SerializeToString(deterministic=True) for _ in range(3)}
    assert len(answers) == 1
    assert counts() == {("evict", "applied"): 1, ("evict", "precondition_failed"): 1}


def test_another_server_returns_the_same_response(client: Client) -> None:
    asked = request(report(EVICTING, e1=APPLIED, e2=FAILED), now=1_011)
    before = client.report_results(asked)
    with run_server() as (_, address), Client(address) as other:
        assert other.report_results(asked) == before
    assert before.groups[0].state == pb.GROUP_STATE_CANCELLED


def test_different_result_of_the_same_decision_is_a_conflict_and_not_counted(client: Client) -> None:
    client.report_results(request(report(BINDING, b1=APPLIED)))
    counts()
    (verdict,) = client.report_results(request(report(BINDING, b1=STALE, b2=APPLIED))).groups
    assert verdict.state == pb.GROUP_STATE_CONFLICT
    assert list(verdict.conflicting_decision_ids) == ["b1"]
    assert not verdict.patches
    assert counts() == {}
    (verdict,) = client.report_results(request(report(BINDING, b1=APPLIED, b2=APPLIED))).groups
    assert verdict.state == pb.GROUP_STATE_COMPLETED
    assert counts() == {("bind", "applied"): 1}


def test_retryable_decision_can_succeed_later(client: Client) -> None:
    fates = [
        client.report_results(request(report(BINDING, b2=APPLIED, b1=result))).groups[0].state
        for result in (LATER, LATER, APPLIED)
    ]
    assert fates == [pb.GROUP_STATE_RETRY, pb.GROUP_STATE_RETRY, pb.GROUP_STATE_COMPLETED]
    assert counts() == {("bind", "applied"): 2, ("bind", "failed"): 1}


def test_statuses_are_in_the_order_of_the_groups(client: Client) -> None:
    first, second = report(BINDING, b1=APPLIED, b2=APPLIED), report(EVICTING)
    first.group.id = "z"
    answer = client.report_results(request(first, second))
    assert [each.id for each in answer.groups] == ["z", "g"]


def test_report_history_is_bounded_and_drops_the_oldest_first() -> None:
    reported = ReportHistory(max_results=2)
    reported.add(SHARD, report(BINDING, b1=APPLIED))
    reported.add(SHARD, report(EVICTING, e1=APPLIED, e2=APPLIED))
    assert [fact.decision_id for fact in reported.add(SHARD, report(BINDING, b1=STALE))] == ["b1"]
    with pytest.raises(ReportConflict):
        reported.add(SHARD, report(BINDING, b1=APPLIED))


def test_final_failure_stays_final_when_reported_as_retryable() -> None:
    reported = ReportHistory()
    reported.add(SHARD, report(BINDING, b1=FAILED))
    assert reported.add(SHARD, report(BINDING, b1=LATER)) == []
    with pytest.raises(ReportConflict):
        reported.add(SHARD, report(BINDING, b1=APPLIED))


def test_shards_have_separate_report_histories() -> None:
    reported = ReportHistory()
    reported.add(SHARD, report(BINDING, b1=APPLIED))
    assert reported.add(Shard("c", "other"), report(BINDING, b1=STALE))


INVALID_REPORTS = pb.ReportResultsRequest(
    groups=[
        report(
            BINDING,
            'eviction_history { victim: "v" } eviction_history { victim: "v" }',
            b1="status: 9",
            nobody=APPLIED,
        ),
        report(BINDING, b1=f"{LATER} retry_time {{ nanos: -1 }}", b2=""),
        pb.GroupReport(),
    ]
)
INVALID_REPORTS.groups[1].results.add(decision_id="b1", status="APPLY_STATUS_APPLIED")
INVALID_REPORTS.groups[1].group.expire_time.seconds = 2**60


def test_every_violating_field_is_named(client: Client) -> None:
    with pytest.raises(InvalidSnapshot) as refused:
        client.report_results(INVALID_REPORTS)
    fields = {field for field, _ in refused.value.violations}
    assert fields == {
        "cluster_id",
        "now",
        "groups[0].results[0].status",
        "groups[0].results[1].decision_id",
        "groups[0].eviction_history[0].preemptor",
        "groups[0].eviction_history[0].last_eviction_time",
        "groups[0].eviction_history[1].victim",
        "groups[0].eviction_history[1].preemptor",
        "groups[0].eviction_history[1].last_eviction_time",
        "groups[1].group.id",
        "groups[1].group.expire_time",
        "groups[1].results[0].retry_time",
        "groups[1].results[1].status",
        "groups[1].results[2].decision_id",
        "groups[2].group.id",
    }
    assert counts() == {}


def test_results_are_recorded_with_their_decisions(tmp_path: Path) -> None:
    path, (snapshot,) = tmp_path / "r", draw_snapshots(2, 1, nodes=20, pods=200)
    kept, group = recorder(path), decide(snapshot).parse().groups[0]
    steps = [
        pb.DecisionResult(decision_id=each.id, status="APPLY_STATUS_APPLIED", detail="201")
        for each in group.decisions
    ]
    asked = pb.ReportResultsRequest(cluster_id="made", node_pool="pool", now=snapshot.now)
    asked.groups.add(group=group, results=steps)
    with run_server(recorder=kept) as (_, address), Client(address) as client:
        client.decide(snapshot)
        for _ in range(2):
            assert client.report_results(asked).groups[0].state == pb.GROUP_STATE_COMPLETED
    found = rows(path, "SELECT decision_id, result, detail FROM outcomes")
    assert sorted(found) == sorted((each.id, "applied", "201") for each in group.decisions)
