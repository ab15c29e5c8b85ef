"""Hostile or invalid names, annotations and times: status of the call and health of the server afterwards.

Each test is a row of a matrix of hostile input. The name of the test begins with the name of the row.
"""

import logging
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import Client
from tenure.v1 import decide_pb2 as service_pb

from tests.attacks.hostile_requests import MIB, field, rejected_fields, send_request, snapshot_of
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=30) as client:
        yield client


def test_h6_long_name_is_rejected_with_a_short_message(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].name = "x" * MIB
    (violation,) = rejected_fields(client, snapshot)
    assert violation == f"pods[0].name: has {MIB} characters, more than 253, the limit max_name_length"


def test_h6_large_foreign_annotation_is_ignored(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations["example.com/notes"] = "x" * 65_536
    assert client.decide(snapshot).SerializeToString() == client.decide(small_snapshot()).SerializeToString()


@pytest.mark.parametrize("key", ["expected-runtime", "requeue-delay", "requeue-not-before", "preemptibility"])
def test_h6_large_own_annotation_is_a_warning(client: Client, key: str) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations[f"kai.scheduler/{key}"] = "1s" * 32_768
    messages = [warning.message for warning in client.decide(snapshot).warnings]
    assert any(f"kai.scheduler/{key}" in message for message in messages)
    assert all(len(message) < 400 for message in messages)


def test_h6_invalid_utf_8_is_rejected() -> None:
    request = snapshot_of(field(1, b"\xff\xfe\xfd"))
    with run_server() as (_, address):
        assert send_request(address, request) == (INVALID, "the message is not a tenure.v1.DecideRequest")


HOSTILE_TEXTS = "evil\nname\x1b[31m\u202e../../etc\x00"


def test_h6_control_characters_are_escaped_in_violations(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].shape = snapshot.queues[1].parent = HOSTILE_TEXTS
    for violation in rejected_fields(client, snapshot):
        assert violation.isprintable()
        assert "evil" in violation


def test_h6_control_characters_are_escaped_in_logs_and_warnings(caplog: pytest.LogCaptureFixture) -> None:
    snapshot = small_snapshot()
    group = snapshot.pod_groups[0]
    group.name = group.namespace = HOSTILE_TEXTS
    group.annotations["kai.scheduler/expected-runtime"] = HOSTILE_TEXTS
    group.annotations["kai.scheduler/preemptibility"] = HOSTILE_TEXTS
    with run_server() as (_, address), Client(address) as client, caplog.at_level(logging.DEBUG, "tenure"):
        answer = client.decide(snapshot)
    assert "evil" in caplog.text
    for record in caplog.records:
        assert record.getMessage().isprintable()
    assert all(warning.message.isprintable() for warning in answer.warnings)


@pytest.mark.parametrize("text", ["-1h", "1y", "9e99s", "", "1h-30m", "٣h", "9" * 5_000 + "s", "999999999w"])
def test_h13_invalid_duration_is_a_warning_and_prevents_a_requeue(client: Client, text: str) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations["kai.scheduler/expected-runtime"] = text
    answer = client.decide(snapshot)
    (warning,) = (w for w in answer.warnings if w.code == service_pb.WARNING_CODE_INVALID_EXPECTED_RUNTIME)
    assert list(warning.pod_groups) == ["runs"]
    assert not any(step.HasField("requeue") for group in answer.groups for step in group.decisions)


@pytest.mark.parametrize(
    "text", ["tomorrow", "2025-13-45T99:00:00Z", "2025-01-15", "", "T", "-1-01-01T00:00:00Z"]
)
def test_h13_invalid_time_is_a_warning_and_prevents_a_requeue(client: Client, text: str) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations["kai.scheduler/expected-runtime"] = "1s"
    snapshot.pod_groups[0].annotations["kai.scheduler/requeue-not-before"] = text
    answer = client.decide(snapshot)
    assert service_pb.WARNING_CODE_INVALID_REQUEUE_NOT_BEFORE in {warning.code for warning in answer.warnings}
    assert not any(step.HasField("requeue") for group in answer.groups for step in group.decisions)


@pytest.mark.parametrize("year", [1678, 1970, 2100, 2261])
def test_h14_start_in_another_century_is_accepted(client: Client, year: int) -> None:
    snapshot = small_snapshot()
    moment = Timestamp()
    moment.FromJsonString(f"{year}-01-01T00:00:00Z")
    snapshot.pod_groups[0].last_start_time.CopyFrom(moment)
    snapshot.pod_groups[0].annotations["kai.scheduler/expected-runtime"] = "36500d"
    codes = {warning.code for warning in client.decide(snapshot).warnings}
    assert (service_pb.WARNING_CODE_CLOCK_SKEW in codes) == (year > 2026)


@pytest.mark.parametrize(
    "field_name", ["creation_time", "last_start_time", "last_eviction_time", "stale_since"]
)
@pytest.mark.parametrize("seconds", [-(2**63), 2**63 - 1, 2**40])
def test_h14_times_beyond_nanosecond_range_are_rejected(
    client: Client, field_name: str, seconds: int
) -> None:
    snapshot = small_snapshot()
    getattr(snapshot.pod_groups[0], field_name).seconds = seconds
    (violation,) = rejected_fields(client, snapshot)
    assert violation == f"pod_groups[0].{field_name}: is not between the years 1677 and 2262"
