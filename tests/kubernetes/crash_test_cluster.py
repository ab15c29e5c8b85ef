"""A cluster in memory behind HTTP, and adapters on it that die at a chosen call."""

from collections import Counter
from contextlib import suppress
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.session import StateSession
from tenure.integration.journal_format import load_journal
from tenure.integration.ports import ClusterError, JournalConflict, JournalFull
from tenure.integration.reconciler import ClusterPorts, Reconciler
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.applier import PodApplier
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.journal_store import ConfigMapStore
from tenure.kubernetes.settings import AdapterSettings, EvictionMode

from tests.kubernetes.apply.decision_groups import NOW
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedApiServer, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import (
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

_CONNECTION_LOSS = ScriptedResponse(0)
_MAP = "/api/v1/namespaces/tenure-system/configmaps"
_DELETED = "2027-01-15T08:00:30Z"
"""Soon after NOW."""
_UNLIMITED = {kind: {"quota": -1, "limit": -1} for kind in ("cpu", "memory", "gpu")}


class CrashTestCluster:
    """A gang of two pods runs, a pod of higher priority waits for its room.

    `crash_at` counts writes of the adapter that is alive; with `after`, the write is done, unanswered.
    """

    def __init__(self, server: ScriptedApiServer, name: str) -> None:
        self.name = name
        server.rules.append(self._respond)
        self.world = CachedCluster()
        self.done: Counter[str] = Counter()
        """Evictions and bindings that had an effect, and those that came for a pod a second time."""
        self.crash_at, self.after, self.writes, self.is_dead = 0, False, 0, False
        self.seconds_of_a_round = 0
        self._ledger: dict[str, Any] | None = None
        self._version = 0
        self._nanoseconds = NOW.ToNanoseconds()
        self._pods = {
            "low-0": running("low-0", meta=member("low")),
            "low-1": running("low-1", meta=member("low")),
        }
        for item in self._pods.values():
            _gpus(item, 4)
        self._pods["high-0"] = pod("high-0", meta=member("high"))
        _gpus(self._pods["high-0"], 8)
        self._groups = {
            name: pod_group(name, minMember=members, priorityClassName=name, preemptibility="preemptible")
            for name, members in (("low", 2), ("high", 1))
        }
        self._show()

    def add_waiting(self, *names: str) -> None:
        """Pods that wait for a core each, and for nobody."""
        for name in names:
            self._pods[name] = pod(name, meta={"labels": {"kai.scheduler/queue": "q"}})
        self._show()

    def _show(self) -> None:
        self.world.put("nodes", node("n1"))
        self.world.put("kai_queues", queue("q", resources=_UNLIMITED))
        for value, name in ((10, "low"), (90, "high")):
            self.world.put("priority_classes", {"metadata": {"name": name}, "value": value})
        for group in self._groups.values():
            self.world.put("kai_pod_groups", group)
        for item in self._pods.values():
            self.world.put("pods", item)

    def now(self) -> Timestamp:
        """Some milliseconds later than the last time."""
        self._nanoseconds += 5_000_000
        moment = Timestamp()
        moment.FromNanoseconds(self._nanoseconds)
        return moment

    def kubelet(self) -> None:
        """Pods that end are gone, and time passes."""
        self._nanoseconds += self.seconds_of_a_round * 10**9
        for name, item in list(self._pods.items()):
            if "deletionTimestamp" in item["metadata"]:
                del self._pods[name]
                self.world.remove("pods", f"uid-{name}")

    def annotations(self, group: str) -> dict[str, str]:
        return dict(self._groups[group]["metadata"].get("annotations", {}))

    def node_of(self, name: str) -> str:
        return str(self._pods[name]["spec"].get("nodeName", ""))

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        if self.is_dead:
            return _CONNECTION_LOSS
        if call.method != "GET":
            self.writes += 1
            if self.writes == self.crash_at:
                self.is_dead = True
                if self.after:
                    self._act(call)
                return _CONNECTION_LOSS
        return self._act(call)

    def _act(self, call: RecordedCall) -> ScriptedResponse:
        if call.path.startswith(_MAP):
            return self._store(call)
        name, _, subresource = call.path.partition("/pods/")[2].partition("/")
        if name:
            return self._act_on_pod(name, subresource)
        return self._act_on_group(call, call.path.rpartition("/")[2])

    def _store(self, call: RecordedCall) -> ScriptedResponse:
        if call.method != "GET":
            if call.method == "PUT" and call.body["metadata"]["resourceVersion"] != str(self._version):
                return ScriptedResponse(409)
            self._version += 1
            meta = {**call.body["metadata"], "resourceVersion": str(self._version)}
            self._ledger = {**call.body, "metadata": meta}
        return ScriptedResponse(200, self._ledger) if self._ledger else ScriptedResponse(404)

    def _act_on_pod(self, name: str, subresource: str) -> ScriptedResponse:
        item = self._pods.get(name)
        if item is None:
            return ScriptedResponse(404)
        if subresource == "eviction":
            self.done[f"evict {name}"] += 1
            item["metadata"]["deletionTimestamp"] = _DELETED
        elif subresource == "binding":
            self.done[f"bind {name}"] += 1
            if item["spec"].get("nodeName"):
                return ScriptedResponse(409)
            item["spec"]["nodeName"] = "n1"
        self.world.put("pods", item)
        return ScriptedResponse(200, {**item, "metadata": {**item["metadata"], "uid": f"uid-{name}"}})

    def _act_on_group(self, call: RecordedCall, name: str) -> ScriptedResponse:
        group = self._groups[name]
        if call.method == "PATCH":
            group["metadata"]["annotations"] = call.body["metadata"]["annotations"]
            self.world.put("kai_pod_groups", group)
        return ScriptedResponse(200, {**group, "metadata": {**group["metadata"], "uid": f"uid-{name}"}})


def _gpus(item: dict[str, Any], count: int) -> None:
    amounts = {"cpu": "1", "nvidia.com/gpu": str(count)}
    item["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}


class AdapterRun:
    """One adapter from its start to its death, or to the end of what there was to do."""

    def __init__(self, cluster: CrashTestCluster, transport: Transport, client: Client) -> None:
        self._cluster = cluster
        cluster.is_dead, cluster.writes = False, 0
        settings, now = AdapterSettings(cluster_id=cluster.name, node_pool_label=""), cluster.now
        mirrors, picture = cluster.world.mirrors, cluster.world.builder(settings.snapshot_scope())
        store = ConfigMapStore(transport, "tenure-system", "tenure", lambda: True)
        ledger = load_journal(store)
        calls = PodWriter(transport, lambda: True, EvictionMode.EVICTION)
        self.ledger = ledger
        applier = PodApplier(calls, mirrors, "kai-scheduler")
        self._session = StateSession(client)
        self._annotations = AnnotationWriter(transport, mirrors, picture, lambda: True)
        teller = StatusWriter(transport, mirrors, picture, lambda: True, "", "test")
        ports = ClusterPorts(picture, applier, self._annotations, teller)
        self._rounds = Reconciler(ports, client.report_results, self._session, ledger, store, now)

    @property
    def next_seconds(self) -> float | None:
        """When the next round is due though nothing changes, in seconds since 1970."""
        return self._rounds.next_reconcile_seconds

    def step(self) -> None:
        """One round, and its kubelet. Raises what the round does."""
        try:
            self._rounds.run_once()
        finally:
            self._cluster.kubelet()

    def run(self, rounds: int) -> None:
        """So many rounds, with a kubelet between them; fewer when it dies."""
        for _ in range(rounds):
            with suppress(ClusterError, JournalConflict, JournalFull):
                self._rounds.run_once()
            if self._cluster.is_dead:
                break
            self._cluster.kubelet()
        self._rounds.close()
        self._annotations.close()
        self._session.close()
