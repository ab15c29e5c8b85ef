"""Random snapshots, nearly full, of pods with every relation to each other, so that decisions evict for them.

Required affinity and anti-affinity, topology spread, host ports, device claims, NUMA zones, topology domains,
pod slots, pods that are no tasks, gangs with roles, and subgroups, nested ones too.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.generators.draw import Draw

APPS: Final = "xy"
HOST: Final = "kubernetes.io/hostname"
KEYS: Final = (HOST, HOST, "zone")
GIB: Final = 1 << 30
NOW: Final = "2026-03-02T12:00:00Z"
EARLIER: Final = "2026-03-02T{hour:02}:00:00Z"
NIC: Final = "nic.example.com"
Row = dict[str, Any]


class _Drawn:
    """Rows of one snapshot, and what is free on its nodes."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.rows: dict[str, list[Row]] = {
            name: []
            for name in ("nodes", "queues", "pod_groups", "pods", "shapes", "resource_claims", "topologies")
        }
        self.free: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.claimed: dict[str, str] = {}
        """Nodes of the claims of running pods."""
        self.has_zones, self.has_claims = draw.chance(15), draw.chance(20)
        self.has_domains, self.has_guests = draw.chance(15), draw.chance(20)

    def add_nodes(self) -> None:
        for number in range(self.draw.integer(2, 5)):
            name, gpus = f"n{number}", self.draw.integer(1, 4)
            slots = self.draw.choice((3, 4, 6, 6))
            self.free[name], self.slots[name] = gpus, slots
            amounts = {"cpu_milli": 16000, "memory_bytes": 64 * GIB, "gpu_milli": gpus * 1000}
            node: Row = {"name": name, "allocatable": {**amounts, "pods": slots}, "gpu_memory_mib": 80000}
            node["labels"] = {HOST: name, "zone": self.draw.choice("ab")}
            if self.has_claims:
                node["devices"] = {NIC: self.draw.integer(1, 2)}
            if self.has_zones and gpus % 2 == 0:
                half = {name: amount // 2 for name, amount in amounts.items()}
                node["numa_policy"] = self.draw.choice(
                    ("NUMA_POLICY_SINGLE_NUMA_NODE", "NUMA_POLICY_RESTRICTED")
                )
                node["numa_zones"] = [{"id": f"zone-{i}", "allocatable": half} for i in range(2)]
            if self.has_guests and self.draw.chance(50):
                node["other_pods"] = [self._guest()]
            self.rows["nodes"].append(node)
        if self.has_domains:
            self.rows["topologies"].append({"name": "racks", "levels": ["zone", HOST]})

    def _guest(self) -> Row:
        guest: Row = {"labels": {"app": self.draw.choice(APPS)}, "count": 1}
        guest["terminating"] = self.draw.chance(30)
        if self.draw.chance(40):
            guest["pod_anti_affinity"] = [self._term()]
        if self.draw.chance(30):
            guest["host_ports"] = [{"port": 80}]
        return guest

    def add_queues(self) -> None:
        total = 1000 * sum(self.free.values())
        for name, most in (("q0", total), ("q1", total // 2)):
            quota = 1000 * self.draw.integer(0, most // 1000)
            self.rows["queues"].append({"name": name, "gpu_milli": {"quota": quota}})

    def add_running(self) -> None:
        for number in range(12):
            places = [name for name, gpus in self.free.items() if gpus and self.slots[name] > 1]
            if not places or (number and self.draw.chance(8)):
                return
            gpus = self.draw.integer(1, min(2, max(self.free[place] for place in places)))
            kind = self._shape(gpus)
            name = f"r{number}"
            self._add_pod_group(name, self.draw.choice((10, 10, 50)), {"min_member": 1}, number)
            for pod in range(self.draw.choice((1, 1, 2))):
                fitting = [place for place in places if self.free[place] >= gpus and self.slots[place] > 1]
                if not fitting:
                    break
                node = self.draw.choice(fitting)
                self.free[node] -= gpus
                self.slots[node] -= 1
                status = "RELEASING" if self.draw.chance(5) else "RUNNING"
                self._add_pod(name, pod, kind, status, node=node)

    def add_pending(self, most: int = 4) -> None:
        for number in range(self.draw.integer(1, most)):
            pods, name = self.draw.choice((1, 1, 1, 2, 2, 3, 4)), f"p{number}"
            parts, minimum = self._structure(pods)
            self._add_pod_group(name, self.draw.choice((50, 90, 90)), minimum, 20 + number)
            self._add_waiting(name, parts)

    def add_gang(self, name: str, pods: int) -> None:
        self._add_pod_group(name, 90, {"min_member": pods}, 20)
        self._add_waiting(name, [""] * pods)

    def split(self, name: str) -> None:
        """Divide the pods of a gang among two subgroups, or leave it as it is."""
        pods = [pod for pod in self.rows["pods"] if pod["pod_group"] == name]
        if len(pods) < 2 or not self.draw.chance(40):
            return
        group = next(each for each in self.rows["pod_groups"] if each["uid"] == name)
        del group["min_member"]
        for number, pod in enumerate(pods):
            pod["sub_group"] = "ab"[number % 2]
        parts = [pod["sub_group"] for pod in pods]
        group["sub_groups"] = [{"name": part, "min_member": parts.count(part)} for part in "ab"]

    def _add_waiting(self, name: str, parts: Sequence[str]) -> None:
        """Pending pods of these subgroups; they may have two roles."""
        has_roles = len(parts) > 1 and self.draw.chance(50)
        kinds = [self._shape(self.draw.integer(0, 2)) for _ in range(2 if has_roles else 1)]
        for pod, part in enumerate(parts):
            more = {"sub_group": part} if part else {}
            self._add_pod(name, pod, kinds[min(pod, len(kinds) - 1)], "PENDING", **more)

    def _structure(self, pods: int) -> tuple[Sequence[str], Row]:
        """Subgroup of each pod, and the minimum of the pod group."""
        if pods == 1 or self.draw.chance(65):
            return [""] * pods, {"min_member": self.draw.choice((pods, pods, 1))}
        names = ["a", "b"]
        parts = [names[number % 2] for number in range(pods)]
        parent = "both" if self.draw.chance(40) else ""
        sub_groups: list[Row] = [
            {"name": name, "parent": parent, "min_member": self.draw.integer(1, parts.count(name) + 1)}
            for name in names
        ]
        minimum: Row = {}
        if parent:
            sub_groups.append({"name": parent, "min_sub_group": self.draw.integer(1, 2)})
        elif self.draw.chance(60):
            minimum["min_sub_group"] = 1
        return parts, {**minimum, "sub_groups": sub_groups}

    def _add_pod_group(self, name: str, priority: int, minimum: Row, age: int) -> None:
        group: Row = {"uid": name, "name": name, "priority": priority, **minimum}
        group["queue"] = self.draw.choice(("q0", "q0", "q1"))
        group["preemptibility"] = "PREEMPTIBILITY_PREEMPTIBLE"
        group["creation_time"] = f"2026-03-02T10:{age:02}:00Z"
        if name.startswith("r"):
            group["last_start_time"] = f"2026-03-02T11:{age:02}:00Z"
        if self.has_domains and self.draw.chance(50):
            level = self.draw.choice(("zone", HOST))
            group["topology_constraint"] = {"topology": "racks", "required_level": level}
        self.rows["pod_groups"].append(group)

    def _add_pod(self, group: str, number: int, kind: Row, status: str, **more: str) -> None:
        pod: Row = {"uid": f"{group}-{number}", "name": f"{group}-{number}", "pod_group": group, **more}
        pod["shape"], pod["labels"], pod["status"] = kind["id"], kind["labels"], f"POD_STATUS_{status}"
        if self.has_claims and self.draw.chance(25):
            self._claim(pod)
        self.rows["pods"].append(pod)

    def _claim(self, pod: Row) -> None:
        """A device of its own, or one that pods of one node share; not more than its node has."""
        claims, node = self.rows["resource_claims"], pod.get("node", "")
        shared = [claim for claim in claims if not claim["from_template"]]
        if shared and self.draw.chance(50):
            claim = self.draw.choice(shared)
        else:
            claim = {"id": f"claim-{len(claims)}", "requests": [{"device_class": NIC, "count": 1}]}
            claim["from_template"] = self.draw.chance(50)
        used = self.claimed.get(claim["id"], node)
        if node:
            devices = next(each["devices"][NIC] for each in self.rows["nodes"] if each["name"] == node)
            others = [each for id, each in self.claimed.items() if id != claim["id"]]
            if used != node or others.count(node) == devices:
                return
            self.claimed[claim["id"]] = node
        pod["resource_claims"] = [claim["id"]]
        if claim not in claims:
            claims.append(claim)

    def _shape(self, gpus: int) -> Row:
        """A shape with relations, and the labels of its pods."""
        draw, number = self.draw, len(self.rows["shapes"])
        cpus = draw.choice((1, 4))
        shape: Row = {"id": f"s{number}", "requests": {"cpu_milli": cpus * 1000, "memory_bytes": GIB}}
        if gpus:
            shape["gpu"] = {"devices": gpus}
        if draw.chance(25):
            shape["pod_affinity"] = [self._term()]
        elif draw.chance(30):
            shape["pod_anti_affinity"] = [self._term()]
        if draw.chance(25):
            spread = {"topology_key": "zone", "max_skew": draw.integer(1, 2)}
            shape["topology_spread"] = [{**spread, "match_labels": {"app": draw.choice(APPS)}}]
        if draw.chance(20):
            shape["host_ports"] = [{"port": 80}]
        if self.has_zones:
            shape["guaranteed"] = draw.chance(70)
        self.rows["shapes"].append(shape)
        return {"id": shape["id"], "labels": {"app": draw.choice(APPS)}}

    def _term(self) -> Row:
        return {"match_labels": {"app": self.draw.choice(APPS)}, "topology_key": self.draw.choice(KEYS)}


def related_snapshot(draw: Draw) -> ClusterSnapshot:
    """Two to five nodes in two zones, two queues, up to sixteen pod groups."""
    drawn = _Drawn(draw)
    drawn.add_nodes()
    drawn.add_queues()
    drawn.add_running()
    drawn.add_pending()
    message = {"cluster_id": "related", "version": 1, "now": NOW, **drawn.rows}
    return ParseDict(message, ClusterSnapshot())


def small_snapshot(draw: Draw) -> ClusterSnapshot:
    """Up to twelve pods in one queue; one pending gang, which may evict all others."""
    drawn = _Drawn(draw)
    drawn.has_zones = False
    drawn.add_nodes()
    drawn.rows["queues"].append({"name": "q0", "gpu_milli": {"quota": 1000 * sum(drawn.free.values())}})
    drawn.add_running()
    del drawn.rows["pods"][8:]
    with_pods = {pod["pod_group"] for pod in drawn.rows["pods"]}
    drawn.rows["pod_groups"] = [each for each in drawn.rows["pod_groups"] if each["uid"] in with_pods]
    drawn.add_gang("p0", draw.choice((1, 1, 2, 2, 3)))
    drawn.split("p0")
    for group in drawn.rows["pod_groups"]:
        group["queue"] = "q0"
    message = {"cluster_id": "related", "version": 1, "now": NOW, **drawn.rows}
    return ParseDict(message, ClusterSnapshot())


def relations_of(snapshot: ClusterSnapshot, pod: str) -> Iterator[str]:
    """Relations of a pod, by name."""
    row = next(each for each in snapshot.pods if each.uid == pod)
    shape = next(each for each in snapshot.shapes if each.id == row.shape)
    group = next(each for each in snapshot.pod_groups if each.uid == row.pod_group)
    fields = ("pod_affinity", "pod_anti_affinity", "topology_spread", "host_ports")
    yield from (name for name in fields if getattr(shape, name))
    if row.resource_claims:
        yield "resource_claims"
    if shape.guaranteed:
        yield "numa_zones"
    if group.HasField("topology_constraint"):
        yield "topology"
