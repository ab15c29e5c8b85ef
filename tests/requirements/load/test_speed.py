"""Preemptibility costs the scheduler next to nothing: lines and calls are counted, not time."""

import sys
from collections import Counter
from functools import cache
from types import FrameType
from typing import Any, Final

import pytest
from tenure.codec.engine import Engine
from tenure.solver.plugins.guards import preemptibility
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest

from tests.bench.decide_measurement import measure_decide
from tests.bench.golden_counters import differences
from tests.bench.workloads.catalog import select_cases
from tests.requirements.answers import evicting_actions
from tests.requirements.load.mixed_modes import add_waiting, full_cluster

NODES: Final = 8
WAITING: Final = 12
GUARD: Final = "guards/preemptibility.py "
DETERMINATION: Final = "model/workload.py is_preemptible"

pytestmark = pytest.mark.skipif(
    not str(preemptibility.__file__).endswith(".py"), reason="lines of compiled modules cannot be counted"
)


class Work(Counter[str]):
    """Executed lines of the solver, by file and function: `.../workload.py is_preemptible`."""

    def of(self, part: str) -> int:
        """Lines of the functions whose name has this part."""
        return sum(count for name, count in self.items() if part in name)


@cache
def work(nodes: int, mode: str = "") -> tuple[Work, int]:
    """Lines that one cycle executes on a full cluster, and its number of pod groups. Empty: mixed modes."""
    cluster = add_waiting(full_cluster(nodes, mode=mode), WAITING, "new", mode=mode)
    engine, request = Engine(default_profile()), DecideRequest(snapshot=cluster.snapshot)
    assert evicting_actions(engine.decide(request).parse())
    found = Work()

    def lines(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            found[f"{frame.f_code.co_filename} {frame.f_code.co_name}"] += 1
        return lines

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return lines if "/tenure/solver/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        engine.decide(request)
    finally:
        sys.settrace(before)
    return found, len(cluster.snapshot.pod_groups)


def test_cycle_with_mixed_modes_is_no_slower_than_with_preemptible_pod_groups_alone() -> None:
    """Two snapshots with equal pods and pod groups: only their modes differ."""
    mixed, plain = (sum(work(NODES, mode)[0].values()) for mode in ("", "PREEMPTIBLE"))
    assert plain > 10_000
    assert mixed < 1.25 * plain


def test_check_of_a_pod_group_takes_a_few_lines() -> None:
    """A check that looks at other pod groups too, or is repeated for every preemptor, takes many more."""
    found, groups = work(NODES)
    assert groups < found.of(GUARD) < 25 * groups
    assert groups < found.of(DETERMINATION) < 25 * groups


CONSTANT_TIME: Final = {"dict.get", "list.extend"}
"""Functions of the interpreter that the check may call. None depends on the size of the cluster."""


def test_check_calls_nothing_whose_time_grows_or_passes_unseen() -> None:
    """A sort, a sum or a pause is one line, however long it takes."""
    cluster = add_waiting(full_cluster(NODES), WAITING, "new")
    engine, request = Engine(default_profile()), DecideRequest(snapshot=cluster.snapshot)
    found = Work()

    def calls(frame: FrameType, event: str, argument: Any) -> None:
        name = f"{frame.f_code.co_filename} {frame.f_code.co_name}"
        if event == "c_call" and (GUARD in name or DETERMINATION in name):
            found[argument.__qualname__] += 1

    before = sys.getprofile()
    sys.setprofile(calls)
    try:
        answer = engine.decide(request)
    finally:
        sys.setprofile(before)
    assert evicting_actions(answer.parse())
    assert set(found) == CONSTANT_TIME
    assert found.total() < 5 * len(cluster.snapshot.pod_groups)


def test_check_grows_with_the_number_of_pod_groups_and_no_faster() -> None:
    (small, few), (large, many) = work(NODES), work(2 * NODES)
    for part in (GUARD, DETERMINATION):
        assert large.of(part) / many < 1.25 * small.of(part) / few


def test_search_with_mixed_modes_has_the_golden_counters() -> None:
    """Scenarios, simulations and placements of the benchmark with all modes, and its decisions."""
    (case,) = select_cases(["U7@20"])
    assert differences(measure_decide(case, 1)) == []
