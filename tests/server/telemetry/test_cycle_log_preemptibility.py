"""Each workload under the legacy rule is logged once as a warning; its owner can set preemptibility."""

import logging
from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.server.telemetry.cycle_log import MAX_PER_CYCLE, SeenKeys
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import log_lines
from tests.server.telemetry.requeue_cases import one_job

ANNOTATION = "kai.scheduler/preemptibility"
SET_PREEMPTIBILITY = f"set the annotation {ANNOTATION}"

Decide = Callable[[ClusterSnapshot], DecideResponse]


@pytest.fixture
def decide(caplog: pytest.LogCaptureFixture) -> Iterator[Decide]:
    caplog.set_level(logging.INFO, "tenure")
    with run_server() as (_, address), Client(address) as client:
        yield client.decide


def legacy(priority: int = 50, count: int = 1) -> ClusterSnapshot:
    """Jobs without preemptibility and without an expected runtime."""
    snapshot = one_job("")
    snapshot.pod_groups[0].ClearField("preemptibility")
    snapshot.pod_groups[0].priority = priority
    for i in range(1, count):
        group = snapshot.pod_groups.add(uid=f"job-{i}", name=f"job-{i}", queue="left", priority=priority)
        group.creation_time.seconds = 1
    return snapshot


@pytest.mark.parametrize(
    ("priority", "read_as"), [(50, "Preemptible"), (99, "Preemptible"), (100, "Non-Preemptible")]
)
def test_legacy_rule_is_logged_as_a_warning(
    priority: int, read_as: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    decide(legacy(priority))
    details = f"job=training-job/default, priority={priority}, preemptibility={read_as}; {SET_PREEMPTIBILITY}"
    assert log_lines(caplog.records) == [("WARNING", f"Legacy preemptibility: {details}")]
    assert {record.name for record in caplog.records} == {"tenure.preemptibility"}


def test_each_workload_is_logged_once(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    for count in (1, 1, 3, 3):
        decide(legacy(count=count))
    assert [text.split(",")[0] for _, text in log_lines(caplog.records)] == [
        "Legacy preemptibility: job=training-job/default",
        "Legacy preemptibility: job=job-1",
        "Legacy preemptibility: job=job-2",
    ]


def test_each_workload_of_a_pushed_state_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tenure")
    snapshot = legacy(count=40)
    snapshot.pod_groups[5].preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    with run_server() as (_, address), Client(address) as client:
        state = client.put_snapshot("an epoch", snapshot)
        client.decide_state(state)
        record_count = len(caplog.records)
        snapshot.pod_groups[5].ClearField("preemptibility")
        for number in range(10):
            delta = StateDelta(base=state, version=state.version + 1, now=snapshot.now)
            delta.upserts.pod_groups.add().CopyFrom(snapshot.pod_groups[5])
            delta.upserts.pod_groups[0].uid = delta.upserts.pod_groups[0].name = f"job-{5 + number * 8}"
            state, _ = client.apply_and_decide(delta)
    assert record_count == 39
    named = [text.split(",")[0].rpartition("=")[2] for _, text in log_lines(caplog.records)[record_count:]]
    assert named == ["job-5", *(f"job-{5 + number * 8}" for number in range(5, 10))]


def test_workloads_of_another_cluster_are_logged_separately(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for cluster in ("east", "west"):
        snapshot = legacy()
        snapshot.cluster_id = cluster
        decide(snapshot)
    assert len(log_lines(caplog.records)) == 2


@pytest.mark.parametrize("count", [MAX_PER_CYCLE, MAX_PER_CYCLE + 1, MAX_PER_CYCLE + 50])
def test_many_workloads_are_listed_up_to_a_limit_and_counted(
    count: int, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        decide(legacy(count=count))
    messages = [text for _, text in log_lines(caplog.records)]
    rest = [f"Legacy preemptibility: {count - MAX_PER_CYCLE} more jobs in this cycle"]
    assert messages[MAX_PER_CYCLE:] == (rest if count > MAX_PER_CYCLE else [])


@pytest.mark.parametrize("value", ["Preemptible", "non-preemptible", "SemiPreemptible", "Non-Preemptible"])
def test_annotation_disables_the_legacy_rule(
    value: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = value
    decide(snapshot)
    assert log_lines(caplog.records) == []


def test_empty_annotation_leaves_the_legacy_rule(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = ""
    decide(snapshot)
    assert len(log_lines(caplog.records)) == 1


def test_unknown_value_is_logged_once(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = "Never"
    for _ in range(2):
        decide(snapshot)
    ((level, text),) = log_lines(caplog.records)
    assert level == "WARNING"
    error = f"error=annotation {ANNOTATION}: 'Never' is unknown;"
    assert text.startswith(f"Preemptibility unknown: job=training-job/default, {error}")


def test_name_cannot_forge_a_log_record(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].name = "innocent\nERROR tenure: all is lost"
    decide(snapshot)
    ((_, text),) = log_lines(caplog.records)
    assert "\n" not in text
    assert r"innocent\nERROR" in text


def test_seen_keys_are_bounded_and_drop_the_oldest() -> None:
    seen_keys = SeenKeys(2)
    assert [seen_keys.is_new(thing) for thing in "abacab"] == [True, True, False, True, False, True]
