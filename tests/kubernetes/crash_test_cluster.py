"""The crash scenario of the integration kit on Kubernetes objects in memory, behind HTTP."""

from collections import Counter
from contextlib import ExitStack, closing
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.session import StateSession
from tenure.integration.journal_format import load_journal
from tenure.integration.reconciler import ClusterPorts, Reconciler
from tenure.integration.testing import KillPoint
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.applier import PodApplier
from tenure.kubernetes.apply.owner_writes import OwnerWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.journal_store import ConfigMapStore
from tenure.kubernetes.observe.pod_group_rows import read_annotations
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.kubernetes.settings import AdapterSettings
from tenure.v1.snapshot_pb2 import PodGroup

from tests.kubernetes.apply.decision_groups import IDENTITY, NOW
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
"""Shortly after NOW."""
_UNLIMITED = {kind: {"quota": -1, "limit": -1} for kind in ("cpu", "memory", "gpu")}


class CrashTestCluster:
    """Implements CrashCluster. Writes of the adapter are HTTP requests other than GET."""

    def __init__(self, server: ScriptedApiServer, transport: Transport, name: str) -> None:
        self.name, self._transport = name, transport
        server.rules.append(self._respond)
        self.world = CachedCluster()
        self.applied: Counter[str] = Counter()
        self.writes, self.is_dead, self._kill = 0, False, KillPoint(0)
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

    def start(self, client: Client, kill: KillPoint) -> "KubernetesRun":
        self.writes, self.is_dead, self._kill = 0, False, kill
        return KubernetesRun(self, self._transport, client)

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
        """Some milliseconds later than the previous result."""
        self._nanoseconds += 5_000_000
        moment = Timestamp()
        moment.FromNanoseconds(self._nanoseconds)
        return moment

    def pass_time(self) -> None:
        for name, item in list(self._pods.items()):
            if "deletionTimestamp" in item["metadata"]:
                del self._pods[name]
                self.world.remove("pods", f"uid-{name}")

    def stored_pod_group(self, name: str) -> PodGroup:
        row = PodGroup()
        read_annotations(row, self._groups[name]["metadata"].get("annotations", {}), [])
        return row

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        if self.is_dead:
            return _CONNECTION_LOSS
        if call.method != "GET":
            self.writes += 1
            if self.writes == self._kill.write:
                self.is_dead = True
                if self._kill.after:
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
            self.applied[f"evict {name}"] += 1
            item["metadata"]["deletionTimestamp"] = _DELETED
        elif subresource == "binding":
            self.applied[f"bind {name}"] += 1
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


def _leads() -> bool:
    return True


class KubernetesRun:
    """An adapter on the cluster, without a lease."""

    def __init__(self, cluster: CrashTestCluster, transport: Transport, client: Client) -> None:
        settings, now = AdapterSettings(cluster_id=cluster.name, node_pool_label=""), cluster.now
        caches, store = cluster.world.mirrors, ConfigMapStore(transport, "tenure-system", "tenure", _leads)
        self._journal = load_journal(store)
        stored = StoredAnnotations(store.signing_key)
        builder = cluster.world.builder(settings.snapshot_scope(), stored=stored)
        self._ends = ExitStack()
        ownership = Ownership(caches, builder, "kai-scheduler")
        writer = AnnotationWriter(transport, caches, builder, ownership, stored, _leads)
        annotations = self._ends.enter_context(closing(writer))
        applier = PodApplier(
            PodWriter(transport, _leads, settings.eviction_mode),
            caches,
            ownership,
            OwnerWriter(transport, settings.all_owner_kinds(), _leads),
        )
        status = StatusWriter(transport, caches, builder, ownership, _leads, IDENTITY)
        ports = ClusterPorts(builder, applier, annotations, status)
        session = self._ends.enter_context(StateSession(client))
        self._reconciler = Reconciler(ports, client.report_results, session, self._journal, store, now)
        self._ends.callback(self._reconciler.close)

    @property
    def groups_in_flight(self) -> int:
        return len(self._journal.entries)

    def reconcile(self) -> None:
        self._reconciler.run_once()

    def close(self) -> None:
        self._ends.close()
