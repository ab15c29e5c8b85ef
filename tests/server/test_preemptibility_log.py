"""Workloads under the legacy rule are warned about once each, so that their owners say what they want."""

import logging
from collections.abc import Callable, Iterator

import pytest
from tenure.client import Client
from tenure.server.telemetry.cycle_log import MOST_AT_ONCE
from tenure.server.telemetry.told import Told
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.server.recorded import lines
from tests.server.requeue_stories import one_job
from tests.server.running import server_here

ANNOTATION = "kai.scheduler/preemptibility"
SAY_SO = f"say so by the annotation {ANNOTATION}"

Decide = Callable[[ClusterSnapshot], DecideResponse]


@pytest.fixture
def decide(caplog: pytest.LogCaptureFixture) -> Iterator[Decide]:
    caplog.set_level(logging.INFO, "tenure")
    with server_here() as (_, address), Client(address) as client:
        yield client.decide


def legacy(priority: int = 50, count: int = 1) -> ClusterSnapshot:
    """Jobs that say nothing about being preempted and nothing about their end."""
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
def test_the_legacy_rule_is_warned_about(
    priority: int, read_as: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    decide(legacy(priority))
    told = f"job=training-job/default, priority={priority}, preemptibility={read_as}; {SAY_SO}"
    assert lines(caplog.records) == [("WARNING", f"Legacy preemptibility: {told}")]
    assert {record.name for record in caplog.records} == {"tenure.preemptibility"}


def test_each_workload_once(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    for count in (1, 1, 3, 3):
        decide(legacy(count=count))
    assert [text.split(",")[0] for _, text in lines(caplog.records)] == [
        "Legacy preemptibility: job=training-job/default",
        "Legacy preemptibility: job=job-1",
        "Legacy preemptibility: job=job-2",
    ]


def test_each_workload_of_a_kept_state_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tenure")
    snapshot = legacy(count=40)
    snapshot.pod_groups[5].preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    with server_here() as (_, address), Client(address) as client:
        state = client.put_snapshot("an epoch", snapshot)
        client.decide_on(state)
        told = len(caplog.records)
        snapshot.pod_groups[5].ClearField("preemptibility")
        for number in range(10):
            delta = StateDelta(base=state, version=state.version + 1, now=snapshot.now)
            delta.upserts.pod_groups.add().CopyFrom(snapshot.pod_groups[5])
            delta.upserts.pod_groups[0].uid = delta.upserts.pod_groups[0].name = f"job-{5 + number * 8}"
            state, _ = client.decide_after(delta)
    assert told == 39
    named = [text.split(",")[0].rpartition("=")[2] for _, text in lines(caplog.records)[told:]]
    assert named == ["job-5", *(f"job-{5 + number * 8}" for number in range(5, 10))]


def test_another_cluster_has_workloads_of_its_own(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    for cluster in ("east", "west"):
        snapshot = legacy()
        snapshot.cluster_id = cluster
        decide(snapshot)
    assert len(lines(caplog.records)) == 2


@pytest.mark.parametrize("count", [MOST_AT_ONCE, MOST_AT_ONCE + 1, MOST_AT_ONCE + 50])
def test_a_crowd_is_named_in_part_and_counted(
    count: int, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        decide(legacy(count=count))
    told = [text for _, text in lines(caplog.records)]
    rest = [f"Legacy preemptibility: and {count - MOST_AT_ONCE} more jobs of this cycle"]
    assert told[MOST_AT_ONCE:] == (rest if count > MOST_AT_ONCE else [])


@pytest.mark.parametrize("value", ["Preemptible", "non-preemptible", "SemiPreemptible", "Non-Preemptible"])
def test_an_annotation_ends_the_legacy_rule(
    value: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = value
    decide(snapshot)
    assert lines(caplog.records) == []


def test_an_empty_annotation_says_nothing(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = ""
    decide(snapshot)
    assert len(lines(caplog.records)) == 1


def test_an_unknown_value_is_warned_about_once(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].annotations[ANNOTATION] = "Never"
    for _ in range(2):
        decide(snapshot)
    ((level, text),) = lines(caplog.records)
    assert level == "WARNING"
    error = f"error=annotation {ANNOTATION}: 'Never' is unknown;"
    assert text.startswith(f"Preemptibility unknown: job=training-job/default, {error}")


def test_a_name_cannot_forge_a_line(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = legacy()
    snapshot.pod_groups[0].name = "innocent\nERROR tenure: all is lost"
    decide(snapshot)
    ((_, text),) = lines(caplog.records)
    assert "\n" not in text
    assert r"innocent\nERROR" in text


def test_memory_has_an_end_and_keeps_what_came_up_last() -> None:
    told = Told(2)
    assert [told.is_new(thing) for thing in "abacab"] == [True, True, False, True, False, True]
