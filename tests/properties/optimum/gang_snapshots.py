"""Random snapshots, nearly full, in which one gang of equal pods with whole GPUs waits.

4 to 40 nodes of 8 GPUs, up to 92 running pod groups that hold 90 to 100 % of the GPUs: gangs, elastic pod
groups and single pods; a quarter of them is protected, in one of the ways that a caller has. Even seeds
contend within the leaf queue of the gang (preempt), odd seeds between leaf queues (reclaim). For
consolidation, 10 to 40 % of the GPUs are free, and scattered.
"""

from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.generators.draw import Draw, SeededDraw

ACTIONS: Final = ("preempt", "reclaim")
CONSOLIDATION: Final = "consolidation"
GANG: Final = "gang"
GPUS: Final = 8
NODES: Final = (4, 5, 6, 8, 8, 10, 12, 16, 20, 28, 40)
MOST_POD_GROUPS: Final = 92
LOWER: Final = (40, 50, 50, 60, 70, 80)
PRIORITY: Final = 90
MINUTES: Final = (1, 5, 20, 60, 200, 700, 2_900, 9_000)
"""Run times, up to six days."""
TREES: Final = (
    {"a": "", "b": ""},
    {"a": "", "b": "", "c": "", "d": ""},
    {"x": "", "a": "x", "b": "x", "y": "", "c": "y", "d": "y"},
)
"""Queues and their parents. The gang waits in `a`."""
GIB: Final = 1 << 30
NOW: Final = 1_772_452_800
CORES_OF_NODE: Final = 12 * GPUS
Row = dict[str, Any]


def action_of(seed: int) -> str:
    """The action that decides on the snapshot of a seed."""
    return ACTIONS[seed % len(ACTIONS)]


def gang_snapshot(seed: int, action: str = "") -> ClusterSnapshot:
    """The snapshot of a seed for an action, by default its own.

    A part of the gangs need no victims, or have no legal ones.
    """
    return ParseDict(_Drawn(SeededDraw(seed), action or action_of(seed)).rows(), ClusterSnapshot())


class _Drawn:
    """Rows of one snapshot, and what is free on its nodes."""

    def __init__(self, draw: Draw, action: str) -> None:
        self._draw, self._action = draw, action
        self._nodes = [f"n{number:02}" for number in range(draw.choice(NODES))]
        self._total = GPUS * len(self._nodes)
        self._gpus = dict.fromkeys(self._nodes, GPUS)
        self._cores = dict.fromkeys(self._nodes, CORES_OF_NODE)
        self._tree = draw.choice(TREES)
        self._leaves = [name for name in self._tree if name in "abcd"]
        self._groups: list[Row] = []
        self._pods: list[Row] = []
        self._shapes: dict[str, Row] = {}
        self._budgets: list[Row] = []

    def rows(self) -> Row:
        """The whole snapshot as JSON."""
        pods, gpus = self._gang()
        least, most = (10, 40) if self._action == CONSOLIDATION else (0, 10)
        self._add_running(self._total * self._draw.integer(least, most) // 100)
        return {
            "cluster_id": "optimum",
            "version": 1,
            "now": _time(0),
            "nodes": [_node(name) for name in self._nodes],
            "queues": [*self._queues(pods * gpus)],
            "pod_groups": self._groups,
            "pods": self._pods,
            "shapes": [*self._shapes.values()],
            "disruption_budgets": self._budgets,
        }

    def _gang(self) -> tuple[int, int]:
        """The pod group that waits: its number of pods, and the GPUs of each."""
        moves = self._action == CONSOLIDATION
        gpus = self._draw.choice((2, 4, 4, 8, 8) if moves else (1, 2, 4, 8, 8))
        wanted = self._draw.choice((1, 1, 1, 2, 2, 3) if moves else (1, 1, 2, 2, 3, 4, 6, 8))
        pods = min(wanted, max(1, self._total // 2 // gpus))
        self._groups.append(
            {
                "uid": GANG,
                "name": GANG,
                "queue": "a",
                "priority": PRIORITY,
                "min_member": pods,
                "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
                "creation_time": _time(60),
            }
        )
        shape = self._shape(gpus, 8 * gpus)
        for number in range(pods):
            self._add_pod(GANG, number, {"shape": shape, "status": "POD_STATUS_PENDING"})
        return pods, gpus

    def _add_running(self, spare: int) -> None:
        """Running pod groups, until only so many GPUs are free."""
        number = failures = 0
        while sum(self._gpus.values()) > spare and number < MOST_POD_GROUPS and failures < 40:
            gpus = self._draw.choice((1, 1, 1, 2, 2, 4, 8)) if failures < 20 else 1
            cores = gpus * self._draw.choice((8, 8, 8, 8, 4, 20))
            if self._draw.chance(4):
                gpus, cores = 0, self._draw.choice((8, 32))
            pods = self._draw.choice((1, 1, 1, 2, 2, 3, 4, 6, 8))
            places = self._take_places(pods, gpus, cores)
            if not places:
                failures += 1
                continue
            self._add_pod_group(f"g{number:02}", number, places, self._shape(gpus, cores))
            number += 1

    def _take_places(self, pods: int, gpus: int, cores: int) -> list[str]:
        """Nodes of so many pods, or of fewer if they do not fit."""
        found: list[str] = []
        for _ in range(pods):
            fitting = [
                name for name in self._nodes if self._gpus[name] >= gpus and self._cores[name] >= cores
            ]
            if not fitting:
                break
            name = found[-1] if found and found[-1] in fitting and self._draw.chance(40) else ""
            name = name or self._draw.choice(fitting)
            self._gpus[name] -= gpus
            self._cores[name] -= cores
            found.append(name)
        return found

    def _add_pod_group(self, uid: str, number: int, places: list[str], shape: str) -> None:
        draw, pods = self._draw, len(places)
        elastic = pods > 1 and draw.chance(40)
        ago = 60 * draw.choice(MINUTES) + number
        group: Row = {
            "uid": uid,
            "name": uid,
            "queue": self._queue(),
            "priority": draw.choice((*LOWER, 95)),
            "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
            "min_member": draw.integer(0, pods - 1) if elastic else pods,
            "creation_time": _time(ago + 30),
            "last_start_time": _time(ago),
        }
        pod: Row = {"shape": shape, "status": "POD_STATUS_RUNNING"}
        match draw.integer(0, 99):
            case chance if chance < 8:
                group["preemptibility"] = "PREEMPTIBILITY_NON_PREEMPTIBLE"
            case chance if chance < 14:
                group["preemptibility"] = "PREEMPTIBILITY_SEMI_PREEMPTIBLE"
            case chance if chance < 18:
                group["opt_out_actions"] = [self._action]
            case chance if chance < 26:
                self._budgets.append({"name": uid, "allowed": draw.choice((0, 1, 2, 4))})
                pod["disruption_budgets"] = [uid]
        self._groups.append(group)
        for index, place in enumerate(places):
            self._add_pod(uid, index, {**pod, "node": place})

    def _queue(self) -> str:
        """Of a running pod group: mostly that of the gang in preempt, and seldom in reclaim."""
        chance = {"preempt": 65, "reclaim": 8, CONSOLIDATION: 30}[self._action]
        return "a" if self._draw.chance(chance) else self._draw.choice(self._leaves[1:])

    def _queues(self, requested: int) -> list[Row]:
        """With quotas in GPUs; that of a parent is the sum of its children's."""
        draw, quotas = self._draw, dict.fromkeys(self._tree, 0)
        for name in self._leaves:
            quotas[name] = draw.integer(0, self._total // len(self._leaves))
            if name == "a" and draw.chance(75):
                quotas[name] = requested + draw.integer(0, self._total // 8)
            if self._tree[name]:
                quotas[self._tree[name]] += quotas[name]
        rows = []
        for number, (name, parent) in enumerate(self._tree.items()):
            share = {"quota": 1000 * quotas[name], "over_quota_weight": draw.choice((1, 1, 1, 2, 3))}
            row: Row = {"name": name, "parent": parent, "gpu_milli": share}
            row["creation_time"] = _time(1_000_000 - number)
            for field in ("preempt_min_runtime", "reclaim_min_runtime"):
                if draw.chance(12):
                    row[field] = "1800s"
            rows.append(row)
        return rows

    def _shape(self, gpus: int, cores: int) -> str:
        name = f"s{gpus}-{cores}"
        row: Row = {"id": name, "requests": {"cpu_milli": 1000 * cores, "memory_bytes": 8 * GIB}}
        if gpus:
            row["gpu"] = {"devices": gpus}
        self._shapes[name] = row
        return name

    def _add_pod(self, group: str, number: int, more: Row) -> None:
        name = f"{group}-{number}"
        self._pods.append({"uid": name, "name": name, "pod_group": group, **more})


def _node(name: str) -> Row:
    amounts = {"cpu_milli": 1000 * CORES_OF_NODE, "memory_bytes": 1024 * GIB, "gpu_milli": 1000 * GPUS}
    return {"name": name, "allocatable": {**amounts, "pods": 110}, "gpu_memory_mib": 80_000}


def _time(seconds_ago: int) -> str:
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).isoformat().replace("+00:00", "Z")
