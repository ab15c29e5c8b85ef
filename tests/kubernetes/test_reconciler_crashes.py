"""The crash matrix on Kubernetes: an adapter is killed before and after each of its writes."""

from pathlib import Path

import pytest
from tenure.client import Client
from tenure.integration.testing import KillPoint, check_crash, kill_points

from tests.kubernetes.apply.scripted_api_server import run_scripted_api_server
from tests.kubernetes.crash_test_cluster import CrashTestCluster

_WRITES = 14
"""More than an undisturbed adapter needs; see the first test."""


def crash(folder: Path, client: Client, kill: KillPoint) -> int:
    with run_scripted_api_server(folder) as (server, transport):
        return check_crash(CrashTestCluster(server, transport, folder.name), client, kill)


def test_undisturbed_adapter_writes_less_often_than_the_tested_kill_points(
    tmp_path: Path, client: Client
) -> None:
    assert 6 < crash(tmp_path, client, KillPoint(0)) < _WRITES


@pytest.mark.parametrize("kill", kill_points(_WRITES), ids=str)
def test_killed_adapter_applies_every_decision_exactly_once(
    tmp_path: Path, client: Client, kill: KillPoint
) -> None:
    crash(tmp_path, client, kill)
