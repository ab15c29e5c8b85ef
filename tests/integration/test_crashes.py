"""The crash matrix on the scheduler in memory, which checks the order of effects at every call."""

import pytest
from tenure.client import Client
from tenure.integration.fake_scheduler import START_SECONDS, FakeScheduler
from tenure.integration.testing import KillPoint, check_crash, check_pause, crash_scenario, kill_points

_WRITES = 18
"""More than an undisturbed adapter needs; see the first test."""


def cluster(name: str) -> FakeScheduler:
    return FakeScheduler(crash_scenario(name, START_SECONDS))


def test_undisturbed_adapter_follows_the_order_of_effects(client: Client) -> None:
    scheduler = cluster("undisturbed")
    assert check_crash(scheduler, client, KillPoint(0)) < _WRITES
    assert scheduler.calls == [
        *("save", "evict low-0", "evict low-1", "report", "save", "patch low"),
        *("save", "save", "bind high-0", "report", "save", "patch high"),
        *("save", "save", "report", "save"),
    ]


@pytest.mark.parametrize("kill", kill_points(_WRITES), ids=str)
def test_killed_adapter_applies_every_decision_exactly_once(client: Client, kill: KillPoint) -> None:
    check_crash(cluster(f"kill-{kill.write}-{kill.after}"), client, kill)


def test_refused_eviction_is_sent_again_after_the_pause_that_the_cluster_requests(client: Client) -> None:
    check_pause(cluster("pause"), client)
