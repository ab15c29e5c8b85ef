"""The adapter of docs/integrate/adapter.md schedules its cluster and survives a crash at any write."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tenure.client import Client, StateSession
from tenure.integration.journal_format import load_journal
from tenure.integration.reconciler import Reconciler
from tenure.integration.testing import AdapterKilled, KillPoint, check_crash, kill_points
from tenure.integration.timing import Clock
from tenure.v1.decision_pb2 import Decision
from tenure.v1.snapshot_pb2 import PodGroup

from tests.server.servers import run_server

PAGE = (Path(__file__).parents[2] / "docs/integrate/adapter.md").read_text()
CODE = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
_WRITES = 18
"""More than an undisturbed adapter needs; see the first test."""


def load_example() -> Any:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(CODE, "docs/integrate/adapter.md", "exec"), names)
    return SimpleNamespace(**names)


EXAMPLE = load_example()


def write_scenario(path: Path) -> None:
    """The crash scenario of the kit as jobs."""
    job = {"submitted": "2027-01-15T08:00:00Z", "fields": {}}
    low = {f"low-{i}": {"node": "n1", "state": "RUNNING"} for i in range(2)}
    high = {"high-0": {"node": "", "state": "PENDING"}}
    jobs = {
        "low": {**job, "priority": 10, "gpus": 4, "tasks": low},
        "high": {**job, "priority": 90, "gpus": 8, "tasks": high},
    }
    path.write_text(json.dumps({"nodes": {"n1": {"gpus": 8}}, "jobs": jobs}))


def end_tasks(cluster: dict[str, Any]) -> None:
    for job in cluster["jobs"].values():
        job["tasks"] = {name: task for name, task in job["tasks"].items() if task["state"] != "ENDING"}


class JobsTestCluster:
    """Implements CrashCluster. A write changes a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "cluster.json"
        write_scenario(self.path)
        self.applied: Counter[str] = Counter()
        self.writes, self.is_dead, self._kill = 0, False, KillPoint(0)

    def start(self, client: Client, kill: KillPoint) -> "JobsRun":
        self.writes, self.is_dead, self._kill = 0, False, kill
        return JobsRun(self, client)

    def pass_time(self) -> None:
        EXAMPLE.Cluster(self.path, lambda: True).change(end_tasks)

    def stored_pod_group(self, name: str) -> PodGroup:
        rows = EXAMPLE.Cluster(self.path, lambda: True).snapshot().pod_groups
        return next(row for row in rows if row.uid == name)

    def attempt(self, write: Callable[[], None], effect: str = "") -> None:
        """Apply a write, unless the adapter is dead or dies at this write."""
        if self.is_dead:
            raise AdapterKilled
        self.writes += 1
        self.is_dead = self.writes == self._kill.write
        if not self.is_dead or self._kill.after:
            write()
            self.applied.update([effect] if effect else [])
        if self.is_dead:
            raise AdapterKilled


class JobsRun:
    """The adapter of the page, without its loop."""

    def __init__(self, cluster: JobsTestCluster, client: Client) -> None:
        api = EXAMPLE.Cluster(cluster.path, lambda: True)
        store = EXAMPLE.JournalFile(cluster.path.with_suffix(".journal"), lambda: True)
        self._journal, self._session = load_journal(store), StateSession(client)
        ports = EXAMPLE.Observation(api).ports
        change, save, apply = api.change, store.save, ports.applier.apply
        effects: list[str] = []

        def apply_decision(decision: Decision) -> Any:
            effects.append(f"{decision.WhichOneof('kind')} {decision.bind.pod or decision.evict.pod}")
            return apply(decision)

        ports.applier.apply = apply_decision
        api.change = lambda edit: cluster.attempt(lambda: change(edit), effects.pop() if effects else "")
        store.save = lambda content: cluster.attempt(lambda: save(content))
        now = Clock(EXAMPLE.HostClock())
        self._reconciler = Reconciler(ports, client.report_results, self._session, self._journal, store, now)

    @property
    def groups_in_flight(self) -> int:
        return len(self._journal.entries)

    def reconcile(self) -> None:
        self._reconciler.run_once()

    def close(self) -> None:
        self._reconciler.close()
        self._session.close()


def test_undisturbed_adapter_writes_less_often_than_the_tested_kill_points(
    tmp_path: Path, client: Client
) -> None:
    assert 6 < check_crash(JobsTestCluster(tmp_path), client, KillPoint(0)) < _WRITES


@pytest.mark.parametrize("kill", kill_points(_WRITES), ids=str)
def test_killed_adapter_applies_every_decision_exactly_once(
    tmp_path: Path, client: Client, kill: KillPoint
) -> None:
    check_crash(JobsTestCluster(tmp_path), client, kill)


def test_test_of_the_page_kills_adapters(tmp_path: Path, client: Client) -> None:
    (code,) = re.findall(r"```python notest\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {
        "pytest": pytest,
        "client": client,
        "JobsTestCluster": lambda: JobsTestCluster(tmp_path),
        "kill_points": kill_points,
        "KillPoint": KillPoint,
        "check_crash": check_crash,
    }
    exec(compile(code, "docs/integrate/adapter.md", "exec"), names)
    test = names["test_killed_adapter_applies_every_decision_once"]
    (mark,) = test.pytestmark
    kills = mark.args[1]
    assert (mark.args[0], max(kill.write for kill in kills) >= _WRITES) == ("kill", True)
    for kill in kills[:2]:
        test(kill)


def test_started_adapter_schedules_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = JobsTestCluster(tmp_path)
    with run_server() as (_, address), EXAMPLE.open_adapter(cluster.path, address) as loop:
        thread = threading.Thread(target=loop.run)
        thread.start()
        try:
            end = time.monotonic() + 60
            while cluster.stored_pod_group("high").last_start_time.seconds == 0:
                assert time.monotonic() < end, loop.problem
                time.sleep(0.2)
                cluster.pass_time()
        finally:
            loop.stop()
            thread.join(60)
    assert not thread.is_alive()
    assert cluster.stored_pod_group("low").eviction_count == 1
    assert "high: " in capsys.readouterr().out
