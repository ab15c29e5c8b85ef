"""A cluster in memory behind HTTP, and adapters on it that die at a chosen call."""

from collections import Counter
from contextlib import suppress
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.kubernetes.apply.annotations import Annotations
from tenure.client.kubernetes.apply.applier import Applier
from tenure.client.kubernetes.apply.calls import Calls
from tenure.client.kubernetes.apply.telling import Teller
from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.ledger.store import LedgerFull, Store
from tenure.client.kubernetes.round import Rounds
from tenure.client.kubernetes.settings import AdapterSettings, EvictionMode
from tenure.client.kubernetes.transport import Transport
from tenure.client.session import StateSession

from tests.kube.apply.answering import Answer, ApiServer, Call
from tests.kube.apply.made import NOW
from tests.kube.observe.world import World, member, node, pod, pod_group, queue, running

_HANGS_UP = Answer(0)
_MAP = "/api/v1/namespaces/tenure-system/configmaps"
_DELETED = "2027-01-15T08:00:30Z"
"""Soon after NOW."""
_UNLIMITED = {kind: {"quota": -1, "limit": -1} for kind in ("cpu", "memory", "gpu")}


class MortalCluster:
    """A gang of two pods runs, a pod of higher priority waits for its room.

    `dies_at` counts writes of the adapter that is alive; with `after`, the write is done, unanswered.
    """

    def __init__(self, server: ApiServer, name: str) -> None:
        self.name = name
        server.rules.append(self._answer)
        self.world = World()
        self.done: Counter[str] = Counter()
        """Evictions and bindings that had an effect, and those that came for a pod a second time."""
        self.dies_at, self.after, self.writes, self.is_dead = 0, False, 0, False
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

    def _answer(self, call: Call) -> Answer:
        if self.is_dead:
            return _HANGS_UP
        if call.method != "GET":
            self.writes += 1
            if self.writes == self.dies_at:
                self.is_dead = True
                if self.after:
                    self._act(call)
                return _HANGS_UP
        return self._act(call)

    def _act(self, call: Call) -> Answer:
        if call.path.startswith(_MAP):
            return self._keep(call)
        name, _, subresource = call.path.partition("/pods/")[2].partition("/")
        if name:
            return self._act_on_pod(name, subresource)
        return self._act_on_group(call, call.path.rpartition("/")[2])

    def _keep(self, call: Call) -> Answer:
        if call.method != "GET":
            if call.method == "PUT" and call.body["metadata"]["resourceVersion"] != str(self._version):
                return Answer(409)
            self._version += 1
            meta = {**call.body["metadata"], "resourceVersion": str(self._version)}
            self._ledger = {**call.body, "metadata": meta}
        return Answer(200, self._ledger) if self._ledger else Answer(404)

    def _act_on_pod(self, name: str, subresource: str) -> Answer:
        item = self._pods.get(name)
        if item is None:
            return Answer(404)
        if subresource == "eviction":
            self.done[f"evict {name}"] += 1
            item["metadata"]["deletionTimestamp"] = _DELETED
        elif subresource == "binding":
            self.done[f"bind {name}"] += 1
            if item["spec"].get("nodeName"):
                return Answer(409)
            item["spec"]["nodeName"] = "n1"
        self.world.put("pods", item)
        return Answer(200, {**item, "metadata": {**item["metadata"], "uid": f"uid-{name}"}})

    def _act_on_group(self, call: Call, name: str) -> Answer:
        group = self._groups[name]
        if call.method == "PATCH":
            group["metadata"]["annotations"] = call.body["metadata"]["annotations"]
            self.world.put("kai_pod_groups", group)
        return Answer(200, {**group, "metadata": {**group["metadata"], "uid": f"uid-{name}"}})


def _gpus(item: dict[str, Any], count: int) -> None:
    amounts = {"cpu": "1", "nvidia.com/gpu": str(count)}
    item["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}


class Life:
    """One adapter from its start to its death, or to the end of what there was to do."""

    def __init__(self, cluster: MortalCluster, transport: Transport, client: Client) -> None:
        self._cluster = cluster
        cluster.is_dead, cluster.writes = False, 0
        settings, now = AdapterSettings(cluster_id=cluster.name, node_pool_label=""), cluster.now
        mirrors, picture = cluster.world.mirrors, cluster.world.picture(settings.picture())
        store = Store(transport, "tenure-system", "tenure", lambda: True)
        ledger = store.load()
        calls = Calls(transport, lambda: True, EvictionMode.EVICTION)
        self.ledger = ledger
        self._applier = Applier(calls, mirrors, "kai-scheduler", now)
        self._session = StateSession(client)
        self._annotations = Annotations(transport, lambda: True)
        teller = Teller(transport, mirrors, lambda: True, "", "test")
        self._rounds = Rounds(
            settings,
            client,
            self._session,
            mirrors,
            picture,
            ledger,
            store,
            self._applier,
            self._annotations,
            teller,
            now,
        )

    @property
    def next_seconds(self) -> float | None:
        """When the next round is due though nothing changes, in seconds since 1970."""
        return self._rounds.next_seconds

    def step(self) -> None:
        """One round, and its kubelet. Raises what the round does."""
        try:
            self._rounds.run_once()
        finally:
            self._cluster.kubelet()

    def run(self, rounds: int) -> None:
        """So many rounds, with a kubelet between them; fewer when it dies."""
        for _ in range(rounds):
            with suppress(ApiFailure, LedgerFull):
                self._rounds.run_once()
            if self._cluster.is_dead:
                break
            self._cluster.kubelet()
        self._applier.close()
        self._annotations.close()
        self._session.close()
