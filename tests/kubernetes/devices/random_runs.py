"""Random runs of the allocator: slices, claims, decisions, restarts, lost and late writes, lagging caches.

Decisions are random, not those of the solver: pods go to any node, whether it has free devices or not.
"""

from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
from tenure.kubernetes.api.object_caches import COLLECTIONS
from tenure.kubernetes.apply.claim_reserver import ClaimReserver
from tenure.kubernetes.apply.device_allocator import DeviceAllocator
from tenure.v1.decision_pb2 import Bind, Decision

from tests.kubernetes.devices.claim_server import ClaimServer
from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, queue

STEPS: Final = 80
NODES: Final = ("n1", "n2")
DRIVER: Final = "gpu.example.test"
_CACHE: Final = {"claims": "resource_claims", "pods": "pods"}
_KINDS: Final = {collection.name: collection.kind for collection in COLLECTIONS}
_SELECTORS: Final = ("", "model == 'A'", "model != 'A'", "index < 2", "index > 0")


class RunResult(NamedTuple):
    """What a run found. Both lists are empty in a good run."""

    twice: list[tuple[str, str, str]]
    """Devices that two claims had."""
    wrong: list[str]
    """Pods that were bound without their devices."""
    counts: Counter[str]


class _NoVolumes:
    def prepare(self, groups: object) -> dict[str, None]:
        return {}

    def close(self) -> None:
        """Nothing runs."""


class RandomRun:
    """One run; the same seed is the same run."""

    def __init__(self, seed: int, fault_rate: float = 0.25) -> None:
        self._random = Random(seed)
        self.server = ClaimServer(self._random, fault_rate)
        self._made = 0
        self._generation = 1
        self._seconds = float(NOW.seconds)
        self._wrong: list[str] = []
        self._bound = self._restarts = 0
        self._slices = {name: self._slice(name) for name in NODES}
        self._start()

    def run(self) -> RunResult:
        """Take all steps."""
        steps = (
            *((self._create,) * 4),
            *((self._deliver,) * 6),
            *((self._decide,) * 12),
            *((self._end_pod,) * 3),
            *((self._wait,) * 4),
            *(self.server.arrive, self._republish, self._restart),
        )
        for _ in range(STEPS):
            self._random.choice(steps)()
            self._judge()
        self._reserver.close()
        counts = Counter(self.server.counts)
        counts.update(bound=self._bound, restarts=self._restarts)
        return RunResult(self.server.twice, self._wrong, counts)

    def _start(self) -> None:
        """A new process: it lists everything."""
        self._world = CachedCluster()
        for name in NODES:
            self._world.put("nodes", node(name))
            self._world.put("resource_slices", self._slices[name])
        self._world.put("kai_queues", queue("q"))
        selectors = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
        self._world.put("device_classes", {"metadata": {"name": DRIVER}, "spec": {"selectors": selectors}})
        self._seen = len(self.server.log)
        for collection in ("claims", "pods"):
            for name in getattr(self.server, collection):
                self._show(collection, name)
        self._builder = self._world.builder()
        claims = self._builder.claims
        claims.allocator_problem = lambda: ""
        caches, transport = self._world.mirrors, self.server
        allocator = DeviceAllocator(
            *(transport, caches.pods.find, claims, "test/tenure", lambda: self._seconds)  # type: ignore[arg-type]
        )
        self._reserver = ClaimReserver(transport, caches, claims, _NoVolumes(), allocator)  # type: ignore[arg-type]
        self._builder.snapshot(NOW)

    def _restart(self) -> None:
        self._restarts += 1
        self._reserver.close()
        self.server.drain()
        self._start()

    def _wait(self) -> None:
        self._seconds += self._random.choice((5.0, 20.0, 20.0, 700.0))

    def _slice(self, name: str) -> dict[str, Any]:
        devices = [
            {
                "name": f"d{at}",
                "attributes": {
                    "model": {"string": self._random.choice("AB")},
                    "index": {"int": at},
                    "link": {"int": at // 2},
                },
            }
            for at in range(self._random.randint(1, 3))
        ]
        pool = {"name": name, "generation": self._generation, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        return {"metadata": {"name": name}, "spec": spec}

    def _republish(self) -> None:
        self._generation += 1
        name = self._random.choice(NODES)
        self._slices[name] = self._slice(name)
        self._world.put("resource_slices", self._slices[name])

    def _create(self) -> None:
        """Create a claim with one to three pods, as users do."""
        self._made += 1
        name, uses = f"c{self._made}", [{"name": "x", "resourceClaimName": f"c{self._made}"}]
        requests = [self._request(f"r{at}") for at in range(self._random.randint(1, 2))]
        devices: dict[str, Any] = {"requests": requests}
        if self._random.random() < 0.3:
            devices["constraints"] = [{"matchAttribute": f"{DRIVER}/link"}]
        meta = {"name": name, "labels": {"kai.scheduler/queue": "q"}}
        self.server.create("claims", {"metadata": meta, "spec": {"devices": devices}, "status": {}})
        if self._made > 1 and self._random.random() < 0.2:
            uses.append({"name": "y", "resourceClaimName": f"c{self._random.randint(1, self._made - 1)}"})
        for at in range(self._random.choice((1, 1, 2, 3))):
            self.server.create("pods", pod(f"p{self._made}-{at}", spec={"resourceClaims": uses}))

    def _request(self, name: str) -> dict[str, Any]:
        if self._random.random() < 0.2:
            subs = [{"name": f"s{at}", **self._exact()} for at in range(2)]
            return {"name": name, "firstAvailable": subs}
        return {"name": name, "exactly": self._exact()}

    def _exact(self) -> dict[str, Any]:
        exact: dict[str, Any] = {"deviceClassName": DRIVER, "count": self._random.choice((1, 1, 2))}
        if selector := self._random.choice(_SELECTORS):
            expression = f"device.attributes['{DRIVER}'].{selector}"
            exact["selectors"] = [{"cel": {"expression": expression}}]
        return exact

    def _deliver(self) -> None:
        """Show some of the changes since then, in order."""
        left = len(self.server.log) - self._seen
        for collection, name in self.server.log[self._seen :][: self._random.randint(0, left)]:
            self._seen += 1
            self._show(collection, name)

    def _show(self, collection: str, name: str) -> None:
        cache = getattr(self._world.mirrors, _CACHE[collection])
        item = getattr(self.server, collection).get(name)
        if item is None:
            if (gone := cache.find(f"uid-{name}")) is not None:
                cache.on_remove(gone)
            return
        cache.on_change(msgspec.json.decode(msgspec.json.encode(item), type=_KINDS[_CACHE[collection]]))

    def _decide(self) -> None:
        """Bind random pods to random nodes; the pods of some decisions are those of one group."""
        self._builder.delta(NOW)
        pending = [
            name
            for name, one in self.server.pods.items()
            if not one["spec"].get("nodeName") and self._world.mirrors.pods.find(f"uid-{name}") is not None
        ]
        chosen = self._random.sample(pending, min(len(pending), self._random.randint(0, 4)))
        on = self._random.choice(NODES)
        decisions = [
            Decision(
                id=f"bind-{name}",
                bind=Bind(pod=f"uid-{name}", node=on if self._random.random() < 0.8 else "n1"),
            )
            for name in chosen
        ]
        groups = [decisions] if self._random.random() < 0.5 else [[one] for one in decisions]
        held = self._reserver.prepare([group for group in groups if group])
        for group in groups:
            if not any(one.id in held for one in group):
                for one in group:
                    self._bind(one.bind)

    def _bind(self, bind: Bind) -> None:
        name = bind.pod.removeprefix("uid-")

        def on_node(item: dict[str, Any]) -> None:
            item["spec"]["nodeName"] = bind.node
            item["status"]["phase"] = "Running"

        self.server.change("pods", name, on_node)
        self._bound += 1

    def _judge(self) -> None:
        """Note pods on nodes without devices, or with those of another node."""
        for name, item in self.server.pods.items():
            if not (on := item["spec"].get("nodeName")):
                continue
            for use in item["spec"]["resourceClaims"]:
                status = self.server.claims[use["resourceClaimName"]]["status"]
                results = (status.get("allocation") or {"devices": {"results": []}})["devices"]["results"]
                pools = {one["pool"] for one in results}
                reserved = {one["uid"] for one in status.get("reservedFor", ())}
                if pools != {on} or item["metadata"]["uid"] not in reserved:
                    self._wrong.append(f"pod {name} on {on}: devices of {pools}, for {sorted(reserved)}")

    def _end_pod(self) -> None:
        """Delete a pod. The controller of claims removes it from its claims, and frees those without pods."""
        if not self.server.pods:
            return
        name = self._random.choice(sorted(self.server.pods))
        uses = deepcopy(self.server.pods[name]["spec"]["resourceClaims"])
        self.server.delete("pods", name)

        def without(claim: dict[str, Any]) -> None:
            reserved = claim["status"].get("reservedFor", [])
            left = [one for one in reserved if one["name"] != name]
            claim["status"] = {**claim["status"], "reservedFor": left} if left else {}

        for use in uses:
            claim = self.server.claims.get(use["resourceClaimName"], {"status": {}})
            if any(one["name"] == name for one in claim["status"].get("reservedFor", ())):
                self.server.change("claims", use["resourceClaimName"], without)
