"""The check `adversarial-snapshots`: valid snapshots with expensive searches, ten seconds for each (H11)."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tenure.client import Client, DeadlineExceeded
from tenure.v1 import snapshot_pb2 as pb

from tests.checks import Counts
from tests.server.servers import run_server_process
from tests.server.slow_search import SLOW_OPTIONS, slow_search_snapshot

SECONDS: Final = 10.0
_MISSED: Final = "no answer in time"


def many_small_pod_groups(size: int) -> pb.ClusterSnapshot:
    """Pending pod groups of one pod, and a twentieth as many equal nodes: most do not fit."""
    snapshot = _equal_nodes(size // 20)
    for number in range(size):
        _group(snapshot, f"one-{number:06}", 1, priority=number % 97)
    return snapshot


def many_large_gangs(size: int) -> pb.ClusterSnapshot:
    """Gangs that each need one node more than the cluster has."""
    nodes = max(size // 100, 1)
    snapshot = _equal_nodes(nodes)
    for number in range(size // (nodes + 1)):
        _group(snapshot, f"gang-{number:06}", nodes + 1, shape="node")
    return snapshot


def insufficient_victims(size: int) -> pb.ClusterSnapshot:
    """A gang that does not fit for any set of victims, in a queue that may reclaim all of them."""
    return slow_search_snapshot(max(size // 8, 12))


SNAPSHOTS: Final[Mapping[str, Callable[[int], pb.ClusterSnapshot]]] = {
    made.__name__: made for made in (many_small_pod_groups, many_large_gangs, insufficient_victims)
}
"""Builders of snapshots. The argument is the approximate number of pods."""
SIZES: Final = {"many_small_pod_groups": 50_000, "many_large_gangs": 20_000, "insufficient_victims": 3_200}


class DecideMeasurement(NamedTuple):
    """Result of a call."""

    seconds: float
    is_complete: bool
    outcomes: int


def measure_decide(client: Client, snapshot: pb.ClusterSnapshot, seconds: float) -> DecideMeasurement:
    """Call `Decide` with a deadline. Raises if there is no response."""
    began = time.perf_counter()
    answer = client.decide(snapshot, timeout=seconds)
    return DecideMeasurement(time.perf_counter() - began, not answer.stopped_early, len(answer.outcomes))


def _equal_nodes(count: int) -> pb.ClusterSnapshot:
    snapshot = pb.ClusterSnapshot(cluster_id="adversarial", version=1)
    snapshot.now.seconds = 1_700_000_000
    snapshot.queues.add(name="all")
    snapshot.shapes.add(id="one", requests={"cpu_milli": 100}, gpu={"devices": 1})
    snapshot.shapes.add(id="node", requests={"cpu_milli": 100}, gpu={"devices": 8})
    for number in range(count):
        room = {"cpu_milli": 10_000, "gpu_milli": 8_000, "pods": 100}
        snapshot.nodes.add(name=f"n{number:05}", allocatable=room, gpu_memory_mib=40_960)
    return snapshot


def _group(
    snapshot: pb.ClusterSnapshot, uid: str, size: int, *, shape: str = "one", priority: int = 50
) -> None:
    group = snapshot.pod_groups.add(uid=uid, queue="all", priority=priority, min_member=size)
    group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    group.creation_time.seconds = 1_600_000_000
    for number in range(size):
        snapshot.pods.add(uid=f"{uid}-{number}", pod_group=uid, shape=shape, status=pb.POD_STATUS_PENDING)


def main() -> Counts:
    """Send snapshots that keep a search busy; each must get a response within ten seconds."""
    missed = 0
    with TemporaryDirectory() as folder:
        config = Path(folder, "slow.yaml")
        config.write_text(SLOW_OPTIONS)
        with run_server_process("--config", str(config)) as (_, address), Client(address) as client:
            for name, size in SIZES.items():
                result = _format_result(client, SNAPSHOTS[name](size))
                print(f"{name} of {size:,} pods: {result}", flush=True)
                missed += result == _MISSED
    return Counts(len(SIZES) - missed, missed)


def _format_result(client: Client, snapshot: pb.ClusterSnapshot) -> str:
    try:
        seconds, is_complete, _ = measure_decide(client, snapshot, SECONDS)
    except DeadlineExceeded:
        return _MISSED
    return f"{seconds:.1f} s of {SECONDS:g}, {'complete' if is_complete else 'stopped early'}"
