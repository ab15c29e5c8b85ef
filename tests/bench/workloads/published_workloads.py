"""The workloads of the reference scheduler's published benchmarks (W1 to W12)."""

from collections.abc import Callable, Iterator
from typing import Final

from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.workloads.case import PLAIN_SEARCH, CallMode, Case, DecisionCounts, no_decisions
from tests.bench.workloads.snapshot_fixture import GPUS, PRIORITY, SnapshotFixture

FULL: Final = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
"""The reference's actions."""
SIZES: Final = {"S": (10, 50), "M": (50, 200), "L": (100, 500)}
"""Nodes and jobs."""
THREE: Final = (CallMode.DECIDE, CallMode.COLD, CallMode.WARM)
CONSOLIDATED: Final = {
    "S": DecisionCounts(0, 28, 3, {"WAITING_FOR_VICTIMS": 25}),
    "M": DecisionCounts(0, 115, 15, {"WAITING_FOR_VICTIMS": 100}),
}
"""Counts of a consolidation: every victim has reserved capacity on another node."""
GANG: Final = 10
"""Pods of eight GPUs in a gang that cannot reclaim enough."""
VICTIMS: Final = 1_000
"""Number of jobs of one GPU. All of them are evicted."""


def published_workloads() -> Iterator[Case]:
    """Return all workloads, by name."""
    for size in SIZES:
        yield from _small(size)
    yield Case("W6", "M", _many_queues, ("allocate",), DecisionCounts(200, 0, 0, {"BOUND": 200}), THREE)
    yield Case("W7", "M", _gangs, ("allocate",), DecisionCounts(400, 0, 0, {"BOUND": 100}), THREE)
    for nodes in (10, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000):
        yield from _large(nodes)
    unpruned = {"speedups": PLAIN_SEARCH}
    for nodes in (10, 50, 100, 200):
        full = with_arguments(_unschedulable, nodes)
        yield Case("W10u", nodes, full, ("reclaim",), no_decisions(WAITING_FOR_QUOTA=1), options=unpruned)
    yield Case("W10aa", 100, _anti_affine, ("reclaim",), no_decisions(WAITING_FOR_CAPACITY=1))
    yield Case("W10t", 100, _racked, ("reclaim",), no_decisions(WAITING_FOR_CAPACITY=1))
    yield Case("W11", 1_500, _missing_volumes, ("reclaim",), no_decisions(INFEASIBLE=3), THREE)
    everybody = DecisionCounts(0, VICTIMS // GPUS, VICTIMS, {"WAITING_FOR_VICTIMS": 1})
    yield Case("W12", VICTIMS, with_arguments(_many_victim_queues, 10), ("reclaim",), everybody)
    yield Case("W12p", VICTIMS, _lower_priority, ("preempt",), everybody)


def _small(size: str) -> Iterator[Case]:
    nodes, jobs = SIZES[size]
    half = jobs // 2
    mixed = with_arguments(_running_and_pending, nodes, jobs)
    done = DecisionCounts(jobs, 0, 0, {"BOUND": jobs})
    yield Case("W1", size, with_arguments(_pending, nodes, jobs), ("allocate",), done, THREE)
    if size != "L":
        idle = (CallMode.DECIDE, CallMode.COLD, CallMode.AGAIN)
        yield Case("W2", size, with_arguments(_running, nodes, jobs), ("reclaim",), no_decisions(), idle)
        waits = no_decisions(WAITING_FOR_CAPACITY=half)
        yield Case("W3", size, mixed, ("preempt",), waits, THREE)
        moved = CONSOLIDATED[size]
        yield Case("W4", size, mixed, ("consolidation",), moved, THREE)
    yield Case("W5", size, mixed, FULL, DecisionCounts(half, 0, 0, {"BOUND": half}), THREE)


def _large(nodes: int) -> Iterator[Case]:
    is_long, ways = nodes > 1_000, THREE if nodes <= 1_000 else (CallMode.DECIDE,)
    gpus = nodes * GPUS
    gang = DecisionCounts(0, nodes // 2, gpus // 2, {"WAITING_FOR_VICTIMS": 1})
    many = DecisionCounts(0, gpus, gpus, {"WAITING_FOR_VICTIMS": gpus})
    yield Case("W8", nodes, with_arguments(_large_job, nodes), ("reclaim",), gang, ways, is_long=is_long)
    yield Case(
        "W9", nodes, with_arguments(_many_singles, nodes), FULL, many, ways, is_long=is_long or nodes > 500
    )
    if nodes == 100:
        back = {"fill_back": "full"}
        yield Case("W8b", nodes, with_arguments(_large_job, nodes), ("reclaim",), gang, THREE, options=back)
        yield Case("W9b", nodes, with_arguments(_many_singles, nodes), FULL, many, THREE, options=back)
    if nodes == 500:
        yield Case("W9m", nodes, with_arguments(_many_singles, nodes, 30), FULL, many)
    if nodes <= 1_000:
        waits = no_decisions(WAITING_FOR_QUOTA=1)
        yield Case("W10", nodes, with_arguments(_unschedulable, nodes), ("reclaim",), waits, THREE)


def with_arguments(build: Callable[..., ClusterSnapshot], *arguments: int) -> Callable[[], ClusterSnapshot]:
    """Bind arguments to a builder."""
    return lambda: build(*arguments)


def _four_queues(nodes: int) -> SnapshotFixture:
    """Add two departments with half of the GPUs each, and two queues in each department."""
    fixture, total = SnapshotFixture(nodes), nodes * GPUS
    for name in ("dept-a", "dept-b"):
        fixture.queue(name, "", total / 2, total / 2)
    for i in range(4):
        fixture.queue(f"queue-{i}", "dept-a" if i < 2 else "dept-b", total / 4, 1)
    return fixture


def _pending(nodes: int, jobs: int) -> ClusterSnapshot:
    fixture = _four_queues(nodes)
    for i in range(jobs):
        fixture.job(f"job-{i}", f"queue-{i % 4}")
    return fixture.build()


def _running(nodes: int, jobs: int) -> ClusterSnapshot:
    fixture = _four_queues(nodes)
    for i in range(jobs):
        fixture.job(f"job-{i}", f"queue-{i % 4}", on=(i % nodes,))
    return fixture.build()


def _running_and_pending(nodes: int, jobs: int) -> ClusterSnapshot:
    """Every other job runs."""
    fixture = _four_queues(nodes)
    for i in range(jobs):
        fixture.job(f"job-{i}", f"queue-{i % 4}", on=() if i % 2 else (i % nodes,))
    return fixture.build()


def _many_queues() -> ClusterSnapshot:
    fixture, total = SnapshotFixture(50), 50 * GPUS
    for i in range(5):
        fixture.queue(f"dept-{i}", "", total / 5, total / 5)
    for i in range(20):
        fixture.queue(f"queue-{i}", f"dept-{i % 5}", total / 20, 1)
    for i in range(200):
        fixture.job(f"job-{i}", f"queue-{i % 20}")
    return fixture.build()


def _gangs() -> ClusterSnapshot:
    fixture = _four_queues(50)
    for i in range(100):
        fixture.job(f"gang-{i}", f"queue-{i % 4}", tasks=4)
    return fixture.build()


def _full(nodes: int, victims: float, asks: float, *, racks: int = 0, minimum_s: int = 0) -> SnapshotFixture:
    """Jobs of one GPU fill all nodes. Their queue and the queue of the pending job have these quotas."""
    fixture = SnapshotFixture(nodes, racks=racks)
    fixture.queue("default")
    shielded = {"reclaim_min_runtime": {"seconds": minimum_s}} if minimum_s else {}
    fixture.queue("victims", "default", victims, **shielded)
    fixture.queue("asks", "default", asks)
    for i in range(nodes * GPUS):
        fixture.job(f"running-{i}", "victims", on=(i % nodes,))
    return fixture


def _large_job(nodes: int) -> ClusterSnapshot:
    fixture = _full(nodes, 0, nodes * GPUS)
    fixture.job("very-large-job", "asks", nodes // 2, GPUS)
    return fixture.build()


def _many_singles(nodes: int, minimum_s: int = 0) -> ClusterSnapshot:
    fixture = _full(nodes, 0, nodes * GPUS, minimum_s=minimum_s)
    for i in range(nodes * GPUS):
        fixture.job(f"pending-{i}", "asks")
    return fixture.build()


def _unschedulable(nodes: int) -> ClusterSnapshot:
    """Fairness permits the eviction of one GPU less than the gang needs."""
    fixture = _full(nodes, nodes * GPUS - GANG * GPUS + 1, GANG * GPUS)
    fixture.job("gang", "asks", GANG, GPUS)
    return fixture.build()


def _anti_affine() -> ClusterSnapshot:
    """Ten pods that require different racks, in a cluster of nine racks."""
    fixture = _full(100, 100 * GPUS - GANG * GPUS, GANG * GPUS, racks=9)
    fixture.shape("apart", GPUS).pod_anti_affinity.add(topology_key="rack", match_labels={"job": "gang"})
    fixture.job("gang", "asks", GANG, shape="apart")
    for pod in fixture.rows.pods[-GANG:]:
        pod.labels["job"] = "gang"
    return fixture.build()


def _racked() -> ClusterSnapshot:
    """Ten pods of a whole node each that require a single rack; racks have at most nine nodes."""
    fixture = _full(100, 100 * GPUS - GANG * GPUS, GANG * GPUS, racks=12)
    fixture.rows.topologies.add(name="racks", levels=["rack"])
    gang = fixture.job("gang", "asks", GANG, GPUS)
    gang.topology_constraint.topology, gang.topology_constraint.required_level = "racks", "rack"
    return fixture.build()


def _missing_volumes() -> ClusterSnapshot:
    """Three pending jobs with missing volume claims, on a cluster whose other jobs use only CPU."""
    nodes, running = 1_500, 7_370
    fixture = SnapshotFixture(nodes, cores=80, gpus=0)
    fixture.queue("default")
    for name, priority, quota in (("test-cpu", 100, 500_000), ("reclaim-cpu", 210, -1)):
        fixture.queue(name, "default", -1, priority=priority, cpu_milli={"quota": quota, "limit": -1})
    for step in range(19):
        fixture.shape(f"cpu-{step}", 0, 500 + 250 * step)
    for i in range(running):
        fixture.job(f"running-{i}", "test-cpu", on=(i % nodes,), shape=f"cpu-{i % 19}")
    for i in range(3):
        fixture.job(f"waits-{i}", "reclaim-cpu", shape="cpu-0")
        fixture.rows.pods[-1].blocked_reason = f"volume claim data-{i} does not exist"
    return fixture.build()


def _many_victim_queues(queues: int) -> ClusterSnapshot:
    """Jobs of queues without a quota fill all nodes, and a gang reclaims every GPU."""
    fixture = SnapshotFixture(VICTIMS // GPUS)
    fixture.queue("default")
    for i in range(queues):
        fixture.queue(f"victims-{i}", "default", 0, 1)
    fixture.queue("asks", "default", VICTIMS)
    for i in range(VICTIMS):
        fixture.job(f"running-{i}", f"victims-{i % queues}", on=(i % (VICTIMS // GPUS),))
    fixture.job("gang", "asks", VICTIMS // GPUS, GPUS)
    return fixture.build()


def _lower_priority() -> ClusterSnapshot:
    """Jobs fill all nodes, and a gang of higher priority in their queue preempts all of them."""
    fixture = SnapshotFixture(VICTIMS // GPUS)
    fixture.queue("default")
    fixture.queue("only", "default", VICTIMS)
    for i in range(VICTIMS):
        fixture.job(f"running-{i}", "only", on=(i % (VICTIMS // GPUS),))
    fixture.job("gang", "only", VICTIMS // GPUS, GPUS, priority=PRIORITY + 1)
    return fixture.build()
