"""ReportOutcome at a real server: counted once, judged after a restart as before, refused by field."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tenure.client import Client, InvalidSnapshot
from tenure.server.outcomes import Conflict, Reported
from tenure.server.shard import Shard
from tenure.v1 import outcome_pb2 as pb

from tests.outcomes.groups import (
    APPLIED,
    BINDING,
    EVICTING,
    FAILED,
    LATER,
    STALE,
    report,
    request,
)
from tests.records.kept import decided, recorder, rows, run
from tests.server.recorded import Counts, counted
from tests.server.running import server_here

SHARD = Shard("c", "p")


@pytest.fixture
def client() -> Iterator[Client]:
    with server_here() as (_, address), Client(address) as client:
        counted()
        yield client


def counts() -> Counts:
    return {key[1:]: number for key, number in counted("tenure_decision_outcomes_total").items()}


def test_a_report_that_is_repeated_gets_the_same_answer_and_counts_once(client: Client) -> None:
    asked = request(report(EVICTING, e1=APPLIED, e2=STALE))
    answers = {client.report_outcome(asked).SerializeToString(deterministic=True) for _ in range(3)}
    assert len(answers) == 1
    assert counts() == {("applied", "evict"): 1, ("rejected_precondition", "evict"): 1}


def test_another_server_answers_the_same(client: Client) -> None:
    asked = request(report(EVICTING, e1=APPLIED, e2=FAILED), now=1_011)
    before = client.report_outcome(asked)
    with server_here() as (_, address), Client(address) as other:
        assert other.report_outcome(asked) == before
    assert before.groups[0].fate == pb.GROUP_FATE_CANCEL


def test_another_result_of_the_same_step_is_a_conflict_and_not_counted(client: Client) -> None:
    client.report_outcome(request(report(BINDING, b1=APPLIED)))
    counts()
    (verdict,) = client.report_outcome(request(report(BINDING, b1=STALE, b2=APPLIED))).groups
    assert verdict.fate == pb.GROUP_FATE_CONFLICT
    assert list(verdict.conflicting_steps) == ["b1"]
    assert not verdict.patches
    assert counts() == {}
    (verdict,) = client.report_outcome(request(report(BINDING, b1=APPLIED, b2=APPLIED))).groups
    assert verdict.fate == pb.GROUP_FATE_FINISHED
    assert counts() == {("applied", "bind"): 1}


def test_a_step_that_failed_for_now_may_succeed_later(client: Client) -> None:
    fates = [
        client.report_outcome(request(report(BINDING, b2=APPLIED, b1=result))).groups[0].fate
        for result in (LATER, LATER, APPLIED)
    ]
    assert fates == [pb.GROUP_FATE_RETRY, pb.GROUP_FATE_RETRY, pb.GROUP_FATE_FINISHED]
    assert counts() == {("applied", "bind"): 2, ("failed", "bind"): 1}


def test_verdicts_come_in_the_order_of_the_groups(client: Client) -> None:
    first, second = report(BINDING, b1=APPLIED, b2=APPLIED), report(EVICTING)
    first.group.id = "z"
    answer = client.report_outcome(request(first, second))
    assert [each.id for each in answer.groups] == ["z", "g"]


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first() -> None:
    reported = Reported(most=2)
    reported.take(SHARD, report(BINDING, b1=APPLIED))
    reported.take(SHARD, report(EVICTING, e1=APPLIED, e2=APPLIED))
    assert [fact.decision_id for fact in reported.take(SHARD, report(BINDING, b1=STALE))] == ["b1"]
    with pytest.raises(Conflict):
        reported.take(SHARD, report(BINDING, b1=APPLIED))


def test_a_failure_for_good_stays_final_when_it_is_reported_as_one_for_now() -> None:
    reported = Reported()
    reported.take(SHARD, report(BINDING, b1=FAILED))
    assert reported.take(SHARD, report(BINDING, b1=LATER)) == []
    with pytest.raises(Conflict):
        reported.take(SHARD, report(BINDING, b1=APPLIED))


def test_clusters_and_node_pools_are_strangers() -> None:
    reported = Reported()
    reported.take(SHARD, report(BINDING, b1=APPLIED))
    assert reported.take(Shard("c", "other"), report(BINDING, b1=STALE))


BAD = pb.ReportOutcomeRequest(
    groups=[
        report(
            BINDING,
            'eviction_memory { victim: "v" } eviction_memory { victim: "v" }',
            b1="result: 9",
            nobody=APPLIED,
        ),
        report(BINDING, b1=f"{LATER} retry_time {{ nanos: -1 }}", b2=""),
        pb.GroupReport(),
    ]
)
BAD.groups[1].steps.add(decision_id="b1", result="STEP_RESULT_APPLIED")
BAD.groups[1].group.expire_time.seconds = 2**60


def test_every_violating_field_is_named(client: Client) -> None:
    with pytest.raises(InvalidSnapshot) as refused:
        client.report_outcome(BAD)
    fields = {field for field, _ in refused.value.violations}
    assert fields == {
        "cluster_id",
        "now",
        "groups[0].steps[0].result",
        "groups[0].steps[1].decision_id",
        "groups[0].eviction_memory[0].preemptor",
        "groups[0].eviction_memory[0].last_eviction_time",
        "groups[0].eviction_memory[1].victim",
        "groups[0].eviction_memory[1].preemptor",
        "groups[0].eviction_memory[1].last_eviction_time",
        "groups[1].group.id",
        "groups[1].group.expire_time",
        "groups[1].steps[0].retry_time",
        "groups[1].steps[1].result",
        "groups[1].steps[2].decision_id",
        "groups[2].group.id",
    }
    assert counts() == {}


def test_what_came_of_decisions_is_recorded_beside_them(tmp_path: Path) -> None:
    path, (snapshot,) = tmp_path / "r", run(2, 1, nodes=20, pods=200)
    kept, group = recorder(path), decided(snapshot).groups[0]
    steps = [
        pb.StepReport(decision_id=each.id, result="STEP_RESULT_APPLIED", detail="201")
        for each in group.decisions
    ]
    asked = pb.ReportOutcomeRequest(cluster_id="made", node_pool="pool", now=snapshot.now)
    asked.groups.add(group=group, steps=steps)
    with server_here(recorder=kept) as (_, address), Client(address) as client:
        client.decide(snapshot)
        for _ in range(2):
            assert client.report_outcome(asked).groups[0].fate == pb.GROUP_FATE_FINISHED
    found = rows(path, "SELECT decision_id, result, detail FROM outcomes")
    assert sorted(found) == sorted((each.id, "applied", "201") for each in group.decisions)
