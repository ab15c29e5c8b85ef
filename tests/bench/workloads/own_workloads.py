"""Workloads that the reference does not measure (U2 to U7, single reclaims, a trace)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tenure.cli.importers.openb import import_openb
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.workloads.case import PLAIN_SEARCH, CallMode, Case, DecisionCounts, no_decisions
from tests.bench.workloads.published_workloads import FULL, THREE, with_arguments
from tests.bench.workloads.snapshot_fixture import GPUS, SnapshotFixture
from tests.e2e.generated_trace import write_trace

VICTIM_QUEUES: Final = 10
DEPARTMENTS: Final = 3
STARVING: Final = 2
GANG: Final = 4
"""Pods of each pod group in the largest state."""
LARGEST_NODES: Final = 20_000
LARGEST_PODS: Final = 200_000
"""Defaults of `server.maxRows`."""
BUDGET: Final = 200
"""Maximum simulations of an adversarial search."""
RUNNING: Final = 0.95
"""Share of a trace's pods that are running."""
SCARCE_CPU_MILLI: Final = (11_000, 12_000, 14_000)
"""CPU for each GPU, in milli-cores. The nodes run out of CPU before they run out of GPUs."""
MODES: Final = (
    (pb.PREEMPTIBILITY_PREEMPTIBLE, 50),
    (pb.PREEMPTIBILITY_NON_PREEMPTIBLE, 50),
    (pb.PREEMPTIBILITY_UNSPECIFIED, 50),
    (pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE, 50),
    (pb.PREEMPTIBILITY_PREEMPTIBLE, 125),
    (pb.PREEMPTIBILITY_UNSPECIFIED, 125),
    (pb.PREEMPTIBILITY_NON_PREEMPTIBLE, 125),
)
"""Preemptibility and priority of pod groups, in turns."""


def own_workloads() -> Iterator[Case]:
    """Return all workloads, by name."""
    idle = no_decisions()
    warm = (CallMode.DECIDE, CallMode.AGAIN, CallMode.WHAT_IF)
    for nodes in (500, 1_000):
        yield Case("U2", nodes, with_arguments(_busy, nodes), FULL, idle, warm)
    for nodes, queues in ((500, 4), (5_000, 4), (20_000, 4), (5_000, 1_000)):
        jobs = nodes * GPUS
        name = "U3" if queues == 4 else "U3q"
        done = DecisionCounts(jobs, 0, 0, {"BOUND": jobs})
        ways = (CallMode.DECIDE, CallMode.COLD) if queues == 4 else (CallMode.DECIDE,)
        jobs_of = with_arguments(_many_jobs, nodes, queues)
        yield Case(name, nodes, jobs_of, ("allocate",), done, ways, is_long=nodes > 5_000)
    kept = with_arguments(_kept, LARGEST_NODES, LARGEST_PODS)
    yield Case("U10", LARGEST_NODES, kept, FULL, idle, (CallMode.AGAIN,), is_long=True)
    full = DecisionCounts(30_000, 0, 0, {"BOUND": 30_000, "WAITING_FOR_CAPACITY": 10_000})
    yield Case(
        "U3m", 5_000, with_arguments(_partly_full, 5_000), ("allocate",), full, (CallMode.DECIDE, *THREE[1:])
    )
    for nodes in (20, 100, 500, 1_000):
        yield Case("U4", nodes, with_arguments(_mixed, nodes), ("reclaim",), None, THREE)
    back = {"fill_back": "full"}
    yield Case("U4b", 100, with_arguments(_mixed, 100), ("reclaim",), None, THREE, options=back)
    for nodes in (20, 500):
        yield Case("U7", nodes, with_arguments(_all_modes, nodes), ("reclaim", "preempt"), None, THREE)
    for nodes in (50, 500):
        yield Case("U5", nodes, with_arguments(_busy, nodes), FULL, idle, (CallMode.CHURN,))
    budget = {"speedups": PLAIN_SEARCH, "max_simulations_per_pod_group": BUDGET}
    yield Case(
        "U6",
        100,
        with_arguments(_adversarial, 100),
        ("reclaim",),
        no_decisions(BUDGET_EXHAUSTED=1),
        (CallMode.DECIDE,),
        budget,
    )
    one = DecisionCounts(0, 1, 1, {"WAITING_FOR_VICTIMS": 1})
    for nodes in (50, 500):
        yield Case(
            "S6", nodes, with_arguments(_one_reclaim, nodes), ("reclaim",), one, (*THREE, CallMode.CHURN)
        )
    usual = {"skip_similar_pod_groups": True, "max_consolidation_victims": 16}
    for nodes in (100, 1_000):
        yield Case(
            "T", nodes, with_arguments(_trace, nodes), FULL, None, (CallMode.DECIDE, CallMode.COLD), usual
        )


def _busy(nodes: int) -> ClusterSnapshot:
    """99 % of the GPUs are in use, and no job is pending."""
    fixture = _quarters(nodes, 4)
    for i in range(nodes * GPUS * 99 // 100):
        fixture.job(f"job-{i:06}", f"queue-{i % 4}", on=(i % nodes,))
    return fixture.build()


def _kept(nodes: int, pods: int) -> ClusterSnapshot:
    """The largest state that servers accept without other settings; all pods run."""
    fixture = _quarters(nodes, 4)
    fixture.shape("cpu", 0)
    for i in range(pods // GANG):
        first, shape = i * GANG, "" if (i + 1) * GANG <= nodes * GPUS else "cpu"
        on = [(first + task) % nodes for task in range(GANG)]
        fixture.job(f"gang-{i:06}", f"queue-{i % 4}", GANG, on=on, shape=shape)
    return fixture.build()


def _quarters(nodes: int, queues: int) -> SnapshotFixture:
    """Queues with equal quotas in two departments; the quotas sum to all GPUs."""
    fixture, total = SnapshotFixture(nodes), nodes * GPUS
    for name in ("dept-0", "dept-1"):
        fixture.queue(name, "", total / 2, total / 2)
    for i in range(queues):
        fixture.queue(f"queue-{i}", f"dept-{i % 2}", total / queues, 1)
    return fixture


def _many_jobs(nodes: int, queues: int) -> ClusterSnapshot:
    """The number of pending jobs equals the number of GPUs."""
    fixture = _quarters(nodes, queues)
    for i in range(nodes * GPUS):
        fixture.job(f"job-{i}", f"queue-{i % queues}")
    return fixture.build()


def _partly_full(nodes: int) -> ClusterSnapshot:
    """A quarter of the GPUs is in use; the number of pending jobs equals the number of GPUs."""
    fixture = _quarters(nodes, 4)
    for i in range(nodes * GPUS // 4):
        fixture.job(f"running-{i}", f"queue-{i % 4}", on=(i % nodes,))
    for i in range(nodes * GPUS):
        fixture.job(f"job-{i}", f"queue-{i % 4}")
    return fixture.build()


def _mixed(nodes: int) -> ClusterSnapshot:
    """Ten queues in three departments use all GPUs with gangs of one to four pods of one or two GPUs. Two
    starving queues with half of all quotas have eight pending jobs for each node.
    """
    fixture, total = SnapshotFixture(nodes), nodes * GPUS
    leaves = [(f"victims-{i}", i % DEPARTMENTS, total / (2 * VICTIM_QUEUES)) for i in range(VICTIM_QUEUES)]
    leaves += [(f"starving-{i}", i, total / (2 * STARVING)) for i in range(STARVING)]
    for department in range(DEPARTMENTS):
        quota = sum(share for _, parent, share in leaves if parent == department)
        fixture.queue(f"dept-{department}", "", quota, quota)
    for name, department, quota in leaves:
        fixture.queue(name, f"dept-{department}", quota, 1)
    place, number = 0, 0
    while place < total:
        size, gpus = 1 + number % 4, 1 + number // 4 % 2
        gpus = gpus if place + size * gpus <= total and place % GPUS % gpus == 0 else 1
        size = min(size, (total - place) // gpus)
        on = [(place + task * gpus) // GPUS for task in range(size)]
        fixture.job(f"gang-{number}", f"victims-{number % VICTIM_QUEUES}", size, gpus, on=on)
        place, number = place + size * gpus, number + 1
    for i in range(nodes * GPUS):
        fixture.job(f"asks-{i}", f"starving-{i % STARVING}", gpus=1 + i % 3 // 2)
    return fixture.build()


def _all_modes(nodes: int) -> ClusterSnapshot:
    """The cluster of U4 with every mode of preemptibility, explicit and legacy. Half of the pods of
    a semi-preemptible pod group are its minimum.
    """
    snapshot = _mixed(nodes)
    for i, group in enumerate(snapshot.pod_groups):
        group.preemptibility, group.priority = MODES[i % len(MODES)]
        if group.preemptibility == pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE:
            group.min_member = (group.min_member + 1) // 2
    return snapshot


def _adversarial(nodes: int) -> ClusterSnapshot:
    """A gang whose pods request much CPU or all GPUs of a node. Fairness permits slightly too few evictions,
    so that every scenario is simulated and fails late.
    """
    fixture, total = SnapshotFixture(nodes, cores=64), nodes * GPUS
    fixture.queue("default")
    cpu = {"quota": 0, "limit": -1}
    fixture.queue("victims", "default", total - 47, cpu_milli=cpu)
    fixture.queue("asks", "default", 48, cpu_milli={"quota": -1, "limit": -1})
    for i, (gpus, milli) in enumerate(((1, 2_000), (1, 12_000), (2, 4_000))):
        fixture.shape(f"victim-{i}", gpus, milli)
    for node in range(nodes):
        for i, shape in enumerate((0, 0, 1, 1, 2, 2)):
            fixture.job(f"running-{i}-{node}", "victims", on=(node,), shape=f"victim-{shape}")
    fixture.shape("wide", GPUS, 4_000)
    fixture.shape("hungry", 1, 40_000)
    fixture.job("gang", "asks", 5, shape="wide")
    rows = fixture.rows
    rows.pod_groups[-1].min_member = 13
    for task in range(8):
        rows.pods.add(uid=f"gang-hungry-{task}", pod_group="gang", shape="hungry", status=1)
    return fixture.build()


def _one_reclaim(nodes: int) -> ClusterSnapshot:
    """One pending job of one GPU on a full cluster."""
    fixture = SnapshotFixture(nodes)
    fixture.queue("default")
    fixture.queue("victims", "default", 0)
    fixture.queue("asks", "default", nodes * GPUS)
    for i in range(nodes * GPUS):
        fixture.job(f"running-{i}", "victims", on=(i % nodes,))
    fixture.job("asks-0", "asks")
    return fixture.build()


def _trace(nodes: int) -> ClusterSnapshot:
    """Single pods of every kind on a full heterogeneous cluster. Many pods share GPUs, some require a kind of
    node, and many GPUs are free on nodes without free CPU.
    """
    default = default_profile()
    engine = Engine(replace(default, options=replace(default.options, max_repacking_looks=0)))
    with TemporaryDirectory() as folder:
        nodes_file, pods, count = write_trace(Path(folder), nodes, cpu_milli=SCARCE_CPU_MILLI)
        running = int(count * RUNNING)
        trace = import_openb(nodes_file, pods, running=running, pending=count - running, engine=engine)
    return trace.snapshot
