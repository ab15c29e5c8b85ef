"""`tenure serve --log-level`: which lines reach standard error."""

import re

import pytest
from tenure.client import Client
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.requeue_stories import add_contender, one_job
from tests.server.running import serving_process

LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (WARNING|INFO|DEBUG) tenure\.(requeue|preemptibility): \w"


def both() -> ClusterSnapshot:
    """One job that is late, and one that waits under the legacy rule."""
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
def test_lines_of_the_level_and_above_are_written(arguments: list[str], levels: set[str]) -> None:
    with serving_process(*arguments) as (process, address):
        with Client(address) as client:
            client.decide(both(), ["requeue"])
        process.terminate()
        _, errors = process.communicate(timeout=20)
    found = [re.match(LINE, line) for line in errors.splitlines()]
    assert None not in found
    assert {match[1] for match in found if match} == levels
