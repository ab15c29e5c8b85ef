"""`tenure serve --log-level`: log records on standard error."""

import re

import pytest
from tenure.client import Client
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server_process
from tests.server.telemetry.requeue_cases import add_contender, one_job

LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (WARNING|INFO|DEBUG) tenure\.(requeue|preemptibility): \w"


def late_and_legacy() -> ClusterSnapshot:
    """One job past its expected runtime, and one pending job with preemptibility by the legacy rule."""
    snapshot = one_job()
    add_contender(snapshot).ClearField("preemptibility")
    return snapshot


@pytest.mark.parametrize(
    ("arguments", "levels"),
    [
        ([], {"WARNING"}),
        (["--log-level", "error"], set()),
        (["--log-level", "warning"], {"WARNING"}),
        (["--log-level", "info"], {"WARNING", "INFO"}),
        (["--log-level", "debug"], {"WARNING", "INFO", "DEBUG"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_records_of_the_level_and_above_are_written(arguments: list[str], levels: set[str]) -> None:
    with run_server_process(*arguments) as (process, address):
        with Client(address) as client:
            client.decide(late_and_legacy(), ["requeue"])
        process.terminate()
        _, errors = process.communicate(timeout=20)
    found = [re.match(LINE, line) for line in errors.splitlines()]
    assert None not in found
    assert {match[1] for match in found if match} == levels
