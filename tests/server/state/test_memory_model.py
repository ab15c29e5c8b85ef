"""The model of memory is within a factor of two of the measurement, and stored states are bounded."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import pytest
from tenure.server.state.stored_state import KEPT_BYTES, KEPT_FACTOR
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.columns import to_columns

from tests.small_snapshot import child_environment

pytestmark = pytest.mark.long

MEASURE = """
import gc, sys
from pathlib import Path
from tenure.codec.engine import Engine
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import full_state
from tenure.solver.registry import default_profile
from tenure.v1.snapshot_pb2 import ClusterSnapshot

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def push(content):
    state = full_state("e", ClusterSnapshot.FromString(content), DEFAULT_ROWS)
    engine.warm_up(state.cluster, state.warm_start)
    return state

engine, content = Engine(default_profile()), sys.stdin.buffer.read()
states = [push(content)]
gc.collect()
before = resident()
states += [push(content) for _ in range(6)]
gc.collect()
print((resident() - before) // 6, states[0].memory_bytes)
"""
"""Memory of one of the next six states: the first one includes what decoding needs for a while.

Python takes memory from the system by the MiB, which would be a tenth of a small state.
"""


KEEP = """
import gc, sys
from pathlib import Path
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import StateStore, StoreLimits, full_state
from tenure.server.state.stored_state import LARGE_REST_SECONDS
from tenure.v1.snapshot_pb2 import ClusterSnapshot

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def push(name):
    snapshot = ClusterSnapshot.FromString(content)
    snapshot.cluster_id = name
    store.put(full_state("e", snapshot, DEFAULT_ROWS))

now = 0.0
store, content = StateStore(StoreLimits(9, 2**30, 600), lambda: now), sys.stdin.buffer.read()
def rest():
    global now
    now += LARGE_REST_SECONDS
    store.drop_idle()

push("a")
rest()
gc.collect()
before = resident()
for name in "bc":
    push(name)
    rest()
gc.collect()
print((resident() - before) // 2, store.size()[1] // 3)
"""
"""Memory of a store that keeps the states."""


def snapshot(groups: int, members: int, nodes: int, *, uid_length: int = 36, running: bool = False) -> bytes:
    """A snapshot with texts of realistic or minimal length."""
    made = pb.ClusterSnapshot(cluster_id="c", version=1)
    made.now.seconds = 1_700_000_000
    made.shapes.add(id="s", requests={"cpu_milli": 100})
    made.queues.add(name="q")
    for number in range(nodes):
        name = f"node-{number:05d}"
        allocatable = {"cpu_milli": 10**6, "gpu_milli": 8_000, "pods": 1_000, "memory_bytes": 10**12}
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "z"}
        made.nodes.add(name=name, allocatable=allocatable, labels=labels)
    for number in range(groups):
        group = made.pod_groups.add(uid=f"{number:0{uid_length}x}", queue="q", min_member=1)
        group.creation_time.seconds = 1_600_000_000 + number
        group.name = f"job-{number}" if uid_length > 10 else ""
        for member in range(members):
            place = number * members + member
            pod = made.pods.add(uid=f"{place:0{uid_length}x}", pod_group=group.uid, shape="s")
            pod.status = pb.POD_STATUS_RUNNING if running else pb.POD_STATUS_PENDING
            pod.node = f"node-{place % nodes:05d}" if running else ""
            pod.name = f"job-{number}-{member}" if uid_length > 10 else ""
    return made.SerializeToString()


def in_columns(content: bytes) -> bytes:
    """Copy of a snapshot with its pods as columns."""
    return to_columns(pb.ClusterSnapshot.FromString(content)).SerializeToString()


SHAPES: Final[Mapping[str, tuple[Callable[[], bytes], int]]] = {
    "running gangs": (partial(snapshot, 1_000, 5, 100, running=True), 12),
    "pending gangs": (partial(snapshot, 1_000, 5, 100), 13),
    "single pods with minimal names": (partial(snapshot, 5_000, 1, 10, uid_length=4), 75),
    "large gangs with minimal names": (partial(snapshot, 100, 100, 10, uid_length=4), 45),
    "nodes": (partial(snapshot, 10, 1, 3_000), 25),
    "running gangs as columns": (lambda: in_columns(snapshot(1_000, 5, 100, running=True)), 20),
}
"""Snapshots, and the most memory that they may take, as a multiple of their size."""


@pytest.mark.parametrize(("make", "factor"), SHAPES.values(), ids=SHAPES)
def test_model_is_within_a_factor_of_two_of_the_measured_memory(
    make: Callable[[], bytes], factor: int
) -> None:
    content = make()
    measured, modelled = run(MEASURE, content)
    print(f"{measured / len(content):.1f} times the size, model {modelled / measured:.2f}")
    assert measured / 2 <= modelled <= measured * 2
    assert measured <= factor * len(content)


def test_a_stored_state_takes_at_most_twelve_times_its_message_and_64_mib() -> None:
    content = snapshot(30_000, 1, 10, uid_length=4)
    measured, counted = run(KEEP, content)
    print(f"{measured / len(content):.1f} times the size")
    assert KEPT_FACTOR * len(content) + KEPT_BYTES < 70 * len(content)
    assert measured <= KEPT_FACTOR * len(content)
    assert counted <= KEPT_FACTOR * len(content)


def run(program: str, content: bytes) -> tuple[int, int]:
    """The two numbers that a program prints, given a snapshot."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=content, env=child_environment(), capture_output=True, check=True)
    measured, counted = map(int, done.stdout.split())
    return measured, counted
