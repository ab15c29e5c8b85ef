"""Random snapshots in which pod groups contend for free GPUs that only good places make usable.

3 to 16 nodes, most with 8 GPUs, of which pods that run hold a part. Up to 16 pod groups wait: gangs, elastic
pod groups and single pods, of which many have more CPU or memory for each GPU than a node has. They request
about as many GPUs as are free. No queue has a limit, so that places alone decide which pod groups start.
"""

from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.generators.draw import Draw, SeededDraw

NODES: Final = (3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 10, 12, 16)
GPUS: Final = (8, 8, 8, 8, 8, 4)
CORES_PER_GPU: Final = 12
MEMORY_PER_GPU: Final = 96
"""Of a node, in GiB."""
CORES: Final = (4, 8, 8, 8, 11, 12, 16, 16, 20)
"""For each GPU of a pod."""
MEMORY: Final = (16, 32, 32, 64, 96, 160)
SIZES: Final = (1, 1, 2, 2, 2, 4, 4, 8)
"""GPUs of a pod."""
PODS: Final = (1, 1, 1, 2, 2, 3, 3, 4, 5, 6)
"""Of a pod group."""
PRIORITIES: Final = (50, 50, 50, 100)
MOST_WAITING: Final = 16
GIB: Final = 1 << 30
NOW: Final = 1_772_452_800
Row = dict[str, Any]


def waiting_snapshot(seed: int) -> ClusterSnapshot:
    """The snapshot of a seed."""
    return ParseDict(_Drawn(SeededDraw(seed)).rows(), ClusterSnapshot())


class _Drawn:
    """Rows of one snapshot, and what is free on its nodes."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._sizes = [draw.choice(GPUS) for _ in range(draw.choice(NODES))]
        self._free = [[gpus, CORES_PER_GPU * gpus, MEMORY_PER_GPU * gpus] for gpus in self._sizes]
        self._queues = [f"q{number}" for number in range(draw.integer(1, 3))]
        self._groups: list[Row] = []
        self._pods: list[Row] = []
        self._shapes: dict[str, Row] = {}

    def rows(self) -> Row:
        """The whole snapshot as JSON."""
        self._add_running(self._draw.integer(0, 60))
        self._add_waiting(self._draw.integer(85, 130))
        return {
            "cluster_id": "places",
            "version": 1,
            "now": _time(0),
            "nodes": [_node(number, gpus) for number, gpus in enumerate(self._sizes)],
            "queues": [{"name": name, "gpu_milli": {"over_quota_weight": 1}} for name in self._queues],
            "pod_groups": self._groups,
            "pods": self._pods,
            "shapes": [*self._shapes.values()],
        }

    def _add_running(self, percent: int) -> None:
        """Single pods that hold about so many percent of the GPUs."""
        goal, failures = sum(self._sizes) * (100 - percent) // 100, 0
        while sum(free[0] for free in self._free) > goal and failures < 20:
            amounts = self._amounts()
            fitting = [number for number, free in enumerate(self._free) if _fits(amounts, free)]
            if not fitting:
                failures += 1
                continue
            number = self._draw.choice(fitting)
            self._free[number] = [has - takes for has, takes in zip(self._free[number], amounts, strict=True)]
            place = {"status": "POD_STATUS_RUNNING", "node": f"n{number:02}"}
            self._add_pod_group(1, 1, amounts, place)

    def _add_waiting(self, percent: int) -> None:
        """Pod groups that request about so many percent of the free GPUs."""
        goal = sum(free[0] for free in self._free) * percent // 100
        groups = requested = 0
        while requested < goal and groups < MOST_WAITING:
            amounts, pods = self._amounts(), self._draw.choice(PODS)
            is_elastic = pods > 1 and self._draw.chance(20)
            minimum = self._draw.integer(1, pods - 1) if is_elastic else pods
            self._add_pod_group(pods, minimum, amounts, {"status": "POD_STATUS_PENDING"})
            groups, requested = groups + 1, requested + pods * amounts[0]

    def _amounts(self) -> tuple[int, int, int]:
        """GPUs, cores and GiB of a pod, which no node lacks."""
        draw = self._draw
        if draw.chance(5):
            return 0, draw.choice((8, 32)), draw.choice((32, 128))
        gpus = draw.choice(SIZES)
        if gpus > max(self._sizes):
            gpus = 2
        cores = min(gpus * draw.choice(CORES), CORES_PER_GPU * max(self._sizes) - draw.choice((0, 8)))
        memory = min(gpus * draw.choice(MEMORY), MEMORY_PER_GPU * max(self._sizes) - 32)
        return gpus, cores, memory

    def _add_pod_group(self, pods: int, minimum: int, amounts: tuple[int, int, int], more: Row) -> None:
        uid = f"g{len(self._groups):02}"
        created = _time(90_000 - 60 * len(self._groups))
        group: Row = {
            "uid": uid,
            "name": uid,
            "queue": self._draw.choice(self._queues),
            "priority": self._draw.choice(PRIORITIES),
            "min_member": minimum,
            "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
            "creation_time": created,
        }
        if "node" in more:
            group["last_start_time"] = created
        self._groups.append(group)
        shape = self._shape(*amounts)
        for number in range(pods):
            name = f"{uid}-{number}"
            self._pods.append({"uid": name, "name": name, "pod_group": uid, "shape": shape, **more})

    def _shape(self, gpus: int, cores: int, memory: int) -> str:
        name = f"g{gpus}-c{cores}-m{memory}"
        requests = {"cpu_milli": 1000 * cores, "memory_bytes": memory * GIB}
        row: Row = {"id": name, "requests": requests}
        if gpus:
            row["gpu"] = {"devices": gpus}
        self._shapes[name] = row
        return name


def _fits(amounts: tuple[int, int, int], free: list[int]) -> bool:
    return all(takes <= has for takes, has in zip(amounts, free, strict=True))


def _node(number: int, gpus: int) -> Row:
    amounts = {
        "cpu_milli": 1000 * CORES_PER_GPU * gpus,
        "memory_bytes": MEMORY_PER_GPU * gpus * GIB,
        "gpu_milli": 1000 * gpus,
        "pods": 110,
    }
    return {"name": f"n{number:02}", "allocatable": amounts, "gpu_memory_mib": 80_000}


def _time(seconds_ago: int) -> str:
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).isoformat().replace("+00:00", "Z")
