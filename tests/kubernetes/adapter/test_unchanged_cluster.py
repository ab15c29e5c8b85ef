"""Nothing flaps: on an unchanged cluster, an adapter that decides again and again writes nothing.

On a real API server, for ten real minutes: tests/e2e/cluster.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import Client
from tenure.client.session import StateSession
from tenure.integration.journal_format import load_journal
from tenure.integration.leadership_term import TermControl
from tenure.integration.reconciler import Reconciler
from tenure.kubernetes.adapter import KubernetesConnection
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.apply import queue_status_writer, status_writer
from tenure.kubernetes.settings import AdapterSettings

from tests.kubernetes.adapter.adapter_stage import NAMESPACE, AdapterStage
from tests.kubernetes.cluster import UserCluster, build_object, wait_until
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN
from tests.kubernetes.environment.resource_definitions import KAI_QUEUE, VOLCANO_QUEUE

_MINUTES = 10
_PER_MINUTE = 2
_SECOND = 10**9
_WRITERS = ("queues/status", "podgroups/status", "pods/status", "events", "configmaps")


class Leader:
    """An adapter in its term, whose reconciles and clock are those of the test. Each relists all objects."""

    def __init__(self, cluster_id: str, transport: Transport, server: str, ends: ExitStack) -> None:
        settings = AdapterSettings.model_validate({"clusterId": cluster_id, "namespace": NAMESPACE})
        control = TermControl(lambda: True, lambda: None, lambda: None)
        connection = KubernetesConnection(settings, transport, transport, "leader", lambda: None)
        store = connection.journal_store(control)
        journal = load_journal(store)
        caches = ObjectCaches.create(control.wake)
        ports = connection.open_ports(control, caches, ends)
        self._reflectors = caches.follow(transport, settings.unfollowed_collections())
        client = ends.enter_context(Client(server))
        session = ends.enter_context(StateSession(client, on_set_aside=ports.on_set_aside))
        self._now = time.time_ns()
        self._reconciler = Reconciler(ports, client.report_results, session, journal, store, self._read_clock)
        ends.callback(self._reconciler.close)

    def reconcile(self, seconds_later: int = 0) -> None:
        """Relist everything and decide, this much later."""
        self._now += seconds_later * _SECOND
        for reflector in self._reflectors:
            reflector.list_once()
        self._reconciler._is_synced = False  # a full snapshot, which is always decided on
        self._reconciler.run_once()

    def _read_clock(self) -> Timestamp:
        moment = Timestamp()
        moment.FromNanoseconds(self._now)
        return moment


@contextmanager
def leader(stage: AdapterStage, server: str) -> Iterator[Leader]:
    with ExitStack() as ends:
        transport = ends.enter_context(closing(Transport(stage.api.kubeconfig(ADAPTER_TOKEN))))
        yield Leader(stage.api.url, transport, server, ends)


@pytest.fixture(autouse=True)
def immediate_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause hides a write: every difference between two decisions is written at once."""
    for module in (status_writer, queue_status_writer):
        monkeypatch.setattr(module, "QUIET_SECONDS", 0.0)


@pytest.fixture
def cluster(stage: AdapterStage) -> UserCluster:
    """Pod groups that run, wait for each kind of reason, and are set aside; queues of KAI and Volcano."""
    made = stage.cluster
    made.queue("guarded", gpus=0, reclaimMinRuntime="2h")
    made.queue("lost", parentQueue="nowhere")
    meta = {"metadata": {"name": "of-volcano"}, "spec": {"deserved": {"nvidia.com/gpu": "2"}}}
    made.make(f"/apis/{VOLCANO_QUEUE.api_version}/queues", build_object(VOLCANO_QUEUE, meta))
    made.workload("runs", pods=2, gpus=2, queue="guarded")
    stage.start("runs-0", "runs-1")
    made.workload("starts", pods=1, gpus=1, priority="high")
    made.workload("large", pods=1, gpus=16)
    made.workload("waits", pods=4, gpus=1)
    made.workload("firm", pods=1, gpus=4, queue="guarded", preemptibility="non-preemptible")
    made.workload("lost", pods=1, gpus=1, queue="lost")
    made.pod("alone", gpus=9, labels={"kai.scheduler/queue": "other"})
    made.workload("aside", pods=1, gpus=1, annotations={"kai.scheduler/queue-hint": "x" * 200_000})
    return made


def writes(stage: AdapterStage) -> dict[str, int]:
    """Writes of the adapter, by what was written."""
    found: dict[str, int] = {}
    for write in stage.writes():
        parts = write.split("/")
        kind = next((one for one in _WRITERS if set(one.split("/")) <= set(parts)), write)
        found[kind] = found.get(kind, 0) + 1
    return found


def settle(stage: AdapterStage, adapter: Leader, made: UserCluster) -> dict[str, int]:
    """Decide until what is decided is done and told; return all writes so far."""
    for _ in range(3):
        adapter.reconcile(1)
        wait_until(lambda: made.running("starts") == 1)
    return still(stage)


def still(stage: AdapterStage) -> dict[str, int]:
    """The writes so far, when the writer of statuses had time for several looks without one."""
    before, quiet = writes(stage), 0
    while quiet < 3:
        time.sleep(0.3)
        now = writes(stage)
        quiet, before = (quiet + 1, now) if now == before else (0, now)
    return before


@pytest.mark.long
def test_unchanged_cluster_causes_no_write_for_ten_minutes(
    stage: AdapterStage, cluster: UserCluster, server: str
) -> None:
    with leader(stage, server) as adapter:
        settled = settle(stage, adapter, cluster)
        assert settled["queues/status"] >= 5
        for _ in range(_MINUTES * _PER_MINUTE):
            adapter.reconcile(60 // _PER_MINUTE)
        assert still(stage) == settled


def test_next_leader_of_an_unchanged_cluster_repeats_no_status(
    stage: AdapterStage, cluster: UserCluster, server: str
) -> None:
    with leader(stage, server) as adapter:
        settled = settle(stage, adapter, cluster)
    with leader(stage, server) as adapter:
        for _ in range(3):
            adapter.reconcile(30)
        after = still(stage)
    repeated = {kind: count - settled.get(kind, 0) for kind, count in after.items()}
    assert not {kind: count for kind, count in repeated.items() if count and kind != "events"}, repeated


def test_queue_status_of_another_controller_is_not_fought_over(
    stage: AdapterStage, cluster: UserCluster, server: str
) -> None:
    path = f"/apis/{KAI_QUEUE.api_version}/queues/q/status"
    with leader(stage, server) as adapter:
        settled = settle(stage, adapter, cluster)
        cluster.transport.patch(path, {"status": {"allocated": {"cpu": "99"}}}, MERGE_PATCH)
        for _ in range(4):
            adapter.reconcile(30)
        assert still(stage) == settled
        cluster.end("starts")
        wait_until(lambda: cluster.pods("starts") == {})
        adapter.reconcile(1)
        assert wait_until(lambda: allocated(cluster, "q") != "99")


def allocated(cluster: UserCluster, queue: str) -> str:
    found: dict[str, Any] = json.loads(cluster.transport.get(f"/apis/{KAI_QUEUE.api_version}/queues/{queue}"))
    return str(found["status"]["allocated"]["cpu"])
