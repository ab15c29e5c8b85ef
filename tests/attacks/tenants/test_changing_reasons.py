"""A tenant that changes its objects all the time does not make the adapter write all the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply import status_writer
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.status_writer import QUIET_SECONDS, StatusWriter
from tenure.v1.decide_pb2 import DecideResponse

from tests.kubernetes.apply.decision_groups import IDENTITY, NOW
from tests.kubernetes.apply.scripted_api_server import (
    ScriptedApiServer,
    ScriptedResponse,
    run_scripted_api_server,
)
from tests.kubernetes.observe.cached_cluster import CachedCluster, member, pod, pod_group, queue

PODS: Final = 20
CHANGES: Final = 10


class Flapping:
    """Pod groups whose reason to be set aside changes, and the writes for them."""

    def __init__(self, server: ScriptedApiServer, transport: Transport, groups: int) -> None:
        self._server, self._groups = server, groups
        server.rules.append(lambda call: ScriptedResponse(200, {"metadata": {}, "status": {}}))
        self.world = CachedCluster()
        self.world.put("kai_queues", queue("q"))
        for group in range(groups):
            for number in range(PODS):
                self.world.put("pods", pod(f"p{group}-{number}", meta=member(f"g{group}")))
        self.builder = self.world.builder()
        ownership = Ownership(self.world.mirrors, self.builder, "kai-scheduler")
        self.writer = StatusWriter(
            transport, self.world.mirrors, self.builder, ownership, lambda: True, IDENTITY
        )
        self.change(0)
        self.builder.snapshot(NOW)

    def change(self, number: int) -> None:
        """Change the reason of all pod groups."""
        for group in range(self._groups):
            self.world.put("kai_pod_groups", pod_group(f"g{group}", queue="x" * (254 + number)))

    def reconcile(self) -> list[str]:
        """Observe, report and write what is due; return the written pods."""
        before = len(self._server.writes())
        self.builder.delta(NOW)
        self.writer.report_set_aside(self.builder.set_aside.take_new())
        self.writer.report(DecideResponse(), [])
        self.writer.write_due()
        written = (write for write in self._server.writes()[before:] if "/pods/" in write)
        return [write.split("/")[-2] for write in written]


@contextmanager
def flapping(folder: Path, groups: int) -> Iterator[Flapping]:
    with run_scripted_api_server(folder) as (server, transport):
        yield Flapping(server, transport, groups)


def test_reasons_that_change_all_the_time_are_written_once_in_the_quiet_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change would otherwise be a write for every pod of the pod group."""
    clock = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(status_writer, "time", SimpleNamespace(monotonic=lambda: clock.seconds))
    with flapping(tmp_path, groups=1) as cluster:
        written = []
        for number in range(CHANGES):
            clock.seconds = number * QUIET_SECONDS / CHANGES
            cluster.change(number)
            written.append(len(cluster.reconcile()))
        assert written == [PODS, *[0] * (CHANGES - 1)]
        clock.seconds = QUIET_SECONDS
        assert len(cluster.reconcile()) == PODS


def test_pods_of_many_pod_groups_are_written_a_few_at_once(tmp_path: Path) -> None:
    """Other conditions are written between them."""
    with flapping(tmp_path, groups=10) as cluster:
        written = [cluster.reconcile() for _ in range(4)]
        assert max(map(len, written)) < 50 + PODS
        assert len({pod for pods in written for pod in pods}) == 10 * PODS
