"""Workloads whose pods have disruption budgets."""

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from typing import Final

from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING, ClusterSnapshot

from tests.bench.workloads.case import Case, DecisionCounts
from tests.bench.workloads.published_workloads import THREE
from tests.bench.workloads.snapshot_fixture import GPUS, SnapshotFixture

BUDGETS: Final = 500
PODS: Final = 5_000
ASKS: Final = 1_000


def budgeted_workloads(plain: Iterable[Case]) -> Iterator[Case]:
    """W8, W9 and U4 with budgets that allow every eviction, and one workload with budgets that do not."""
    for case in plain:
        if case.name in ("W8@100", "W9@100", "U4@100"):
            name, build = f"{case.workload}d", case.build
            yield Case(name, case.size, _ample(build), case.actions, case.expected, THREE)
    told = {"WAITING_FOR_VICTIMS": BUDGETS, "DELAYED": ASKS - BUDGETS}
    tight = DecisionCounts(0, BUDGETS, BUDGETS, told)
    yield Case("U8", PODS // GPUS, _tight, ("reclaim",), tight, THREE)


def _ample(build: Callable[[], ClusterSnapshot]) -> Callable[[], ClusterSnapshot]:
    return lambda: with_budgets(build(), BUDGETS, PODS)


def with_budgets(snapshot: ClusterSnapshot, count: int, allowed: int) -> ClusterSnapshot:
    """Give every running pod one of these budgets, in turns."""
    names = [f"budget-{number:03}" for number in range(count)]
    for name in names:
        snapshot.disruption_budgets.add(name=name, allowed=allowed)
    running = (pod for pod in snapshot.pods if pod.status == POD_STATUS_RUNNING)
    for pod, name in zip(running, cycle(names), strict=False):
        pod.disruption_budgets.append(name)
    return snapshot


def _tight() -> ClusterSnapshot:
    """Budgets that allow half of the disruptions that are asked for."""
    return with_budgets(crowded(), BUDGETS, 1)


def crowded() -> ClusterSnapshot:
    """Five thousand pods on as many GPUs; a queue below its fair share asks for a thousand."""
    nodes = PODS // GPUS
    fixture = SnapshotFixture(nodes)
    fixture.queue("default")
    fixture.queue("victims", "default", 0)
    fixture.queue("asks", "default", PODS)
    for number in range(PODS):
        fixture.job(f"running-{number}", "victims", on=(number % nodes,))
    for number in range(ASKS):
        fixture.job(f"asks-{number}", "asks")
    return fixture.build()
