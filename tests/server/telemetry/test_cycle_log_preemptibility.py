"""Each workload under the legacy rule is logged once as a warning; its owner can set preemptibility."""

import logging
from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.server.telemetry.cycle_log import LEGACY_INTERVAL, MAX_NAMED, SeenKeys
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
    caplog.set_level(logging.INFO, "tenure.preemptibility")
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
    details = (
        f"pod_group=training-job/default, priority={priority}, preemptibility={read_as}; {SET_PREEMPTIBILITY}"
    )
    assert log_lines(caplog.records) == [("WARNING", f"Legacy preemptibility: {details}")]
    assert {record.name for record in caplog.records} == {"tenure.preemptibility"}


def later(snapshot: ClusterSnapshot, intervals: float) -> ClusterSnapshot:
    """Copy of a snapshot so many intervals of messages later."""
    snapshot.now.FromNanoseconds(snapshot.now.ToNanoseconds() + int(intervals * LEGACY_INTERVAL))
    return snapshot


def test_each_workload_is_logged_once_and_those_of_a_while_together(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for number, count in enumerate((1, 1, 3, 6, 6, 6)):
        decide(later(legacy(count=count), number * 0.4))
    messages = [text for _, text in log_lines(caplog.records)]
    assert len(messages) == 2
    assert messages[0].startswith("Legacy preemptibility: pod_group=training-job/default, ")
    named = "; ".join(
        f"pod_group=job-{i}, priority=50, preemptibility=Preemptible" for i in range(1, 1 + MAX_NAMED)
    )
    assert messages[1] == f"Legacy preemptibility: {named} and 2 more pod groups; {SET_PREEMPTIBILITY}"


def test_new_workloads_in_every_cycle_are_one_message_in_a_while(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        decide(later(legacy(count=number + 1), number / 10))
    assert len(log_lines(caplog.records)) == 3


def test_workloads_of_a_pushed_state_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tenure.preemptibility")
    snapshot = legacy(count=40)
    snapshot.pod_groups[5].preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    with run_server() as (_, address), Client(address) as client:
        state = client.put_snapshot("an epoch", snapshot)
        client.decide_state(state)
        snapshot.pod_groups[5].ClearField("preemptibility")
        for _ in range(3):
            later(snapshot, 1)
            delta = StateDelta(base=state, version=state.version + 1, now=snapshot.now)
            delta.upserts.pod_groups.add().CopyFrom(snapshot.pod_groups[5])
            state, _ = client.apply_and_decide(delta)
    messages = [text for _, text in log_lines(caplog.records)]
    assert len(messages) == 2
    assert f"and {39 - MAX_NAMED} more pod groups; " in messages[0]
    assert messages[1].startswith("Legacy preemptibility: pod_group=job-5, ")


def test_workloads_of_another_cluster_are_logged_separately(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for cluster in ("east", "west"):
        snapshot = legacy()
        snapshot.cluster_id = cluster
        decide(snapshot)
    assert len(log_lines(caplog.records)) == 2


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
    assert text.startswith(f"Preemptibility unknown: pod_group=training-job/default, {error}")


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
