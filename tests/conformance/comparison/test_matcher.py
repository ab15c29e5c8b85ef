"""The matcher compares every expectation of a case and reports each difference as text."""

from collections.abc import Callable

import pytest

from tests.conformance.cases import Json
from tests.conformance.comparison.matcher import find_differences
from tests.conformance.rounds import CaseSession
from tests.conformance.small_cases import PENDING, case, expect, job, node, queue
from tests.conformance.task_table import Calls, Session, TaskState

Change = Callable[[Json], object]

AFTERWARDS = Session(
    tasks={"a-0": TaskState("Running", "node0"), "b-0": TaskState("Binding", "node0", ("device",))},
    last_start_s={"a": -60.0, "b": 0.0},
    reasons={},
    calls=Calls(binds=1),
)


def _case() -> Json:
    """Job `a` runs on a GPU of node0; the session allocated half of another GPU to job `b`."""
    return case(
        "matched",
        [node("node0", 3)],
        [queue("queue0", 3)],
        [job("a", "queue0", [("Running", "node0")]), job("b", "queue0", [PENDING], gpus=0.5)],
        {
            "a": expect("Running", "node0", last_start_set=True, last_start_older_than_s=60),
            "b": expect("Binding", gpus=0.5, gpus_accepted=0.5, cpu_milli_required=1000),
        },
        calls=(1, 0, 0),
    ).data


def _find(change: Change, is_matched: bool = True) -> list[str]:
    data = _case()
    change(data)
    return find_differences(data, CaseSession("round 1: ", AFTERWARDS, is_matched))


def test_expected_result_has_no_differences() -> None:
    assert _find(lambda data: None) == []


def _job(data: Json, name: str, **fields: object) -> None:
    data["expected"]["jobs"][name].update(fields)


def _node(data: Json, **fields: object) -> None:
    amounts = {"idle_gpus": 1.0, "releasing_gpus": 0.0, "numa_zones_available": None}
    data["expected"]["nodes"]["node0"] = {**amounts, **fields}


def _zone(data: Json, left: float) -> None:
    """Task a-0 runs in the only zone of the node; b-0 has no zone."""
    zone = {"id": "z", "allocatable": {"cpu": 4000}, "available": {"cpu": 1000}}
    data["nodes"][0]["numa_topology"] = {"policy": "None", "scope": "Pod", "zones": [zone]}
    _node(data, numa_zones_available={"0": {"cpu": left}}, idle_gpus=1.0)


def _task(data: Json, uid: str, **fields: object) -> None:
    data["expected"]["tasks"][uid] = {**expect("Running", gpus=0.5), **fields}


DIFFERENCES: dict[str, tuple[Change, str]] = {
    "status": (
        lambda data: _job(data, "a", status="Pending"),
        "task a-0: expected Pending on node0, got Running on node0",
    ),
    "node": (
        lambda data: _job(data, "a", node="node1"),
        "task a-0: expected Running on node1, got Running on node0",
    ),
    "a single task": (
        lambda data: _task(data, "b-0"),
        "task b-0: expected Running, got Binding on node0",
    ),
    "requested GPUs": (
        lambda data: _job(data, "b", gpus_required=0.6),
        "job b: expected gpus_required 0.6, the snapshot asks for 0.5",
    ),
    "requested CPU": (
        lambda data: _job(data, "b", cpu_milli_required=999),
        "job b: expected cpu_milli_required 999, the snapshot asks for 1000",
    ),
    "accepted GPUs": (
        lambda data: _job(data, "b", gpus_accepted=0.4),
        "job b: expected 0.4 accepted GPUs, got 0.5",
    ),
    "age of the start": (
        lambda data: _job(data, "a", last_start_older_than_s=61),
        "job a: expected a last start at least 61 s ago, got -60.0",
    ),
    "a reason": (
        lambda data: _job(data, "b", error_message="no room"),
        "job b: expected a reason why it waits, got none",
    ),
    "idle GPUs": (
        lambda data: _node(data, idle_gpus=2.0),
        "node node0: expected 2.0 idle and 0.0 releasing GPUs, got 1.0 and 0.0",
    ),
    "NUMA zones": (
        lambda data: _job(data, "a", numa_zones=[1]),
        "task a-0: expected NUMA zones [1], got []",
    ),
    "what is left of a NUMA zone": (
        lambda data: _zone(data, left=2000),
        "node node0, zone 0: expected 2000 cpu available, got 1000",
    ),
    "number of binds": (
        lambda data: data["expected"]["calls_max_per_session"].update(binds=0),
        "at most 0 binds expected in a session, got 1",
    ),
    "a status by the start of the uid": (
        lambda data: data["expected"].update(matcher="custom", task_status_by_prefix={"b-": "Pending"}),
        "task b-0: expected Pending, got Binding on node0",
    ),
    "the node of a random case": (
        lambda data: data["expected"].update(
            matcher="random_oracle", tasks={"a-0": {"status": "Running", "node": None}}
        ),
        "task a-0: expected Running, got Running on node0",
    ),
}


@pytest.mark.parametrize(("change", "difference"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_difference_is_reported(change: Change, difference: str) -> None:
    assert f"round 1: {difference}" in _find(change)


def test_missing_start_time_is_a_difference() -> None:
    session = Session(AFTERWARDS.tasks, last_start_s={}, reasons={})
    assert find_differences(_case(), CaseSession("", session, is_matched=True)) == [
        "job a: expected a last start time, got none",
        "job a: expected a last start at least 60 s ago, got None",
    ]


def test_unknown_tasks_are_ignored_only_when_the_case_marks_them() -> None:
    assert _find(lambda data: _task(data, "nobody", ignored=True)) == []
    with pytest.raises(KeyError):
        _find(lambda data: _task(data, "nobody", ignored=False))


def test_a_session_before_the_match_is_bounded_but_not_matched() -> None:
    assert _find(lambda data: _job(data, "a", status="Pending"), is_matched=False) == []
    bound = _find(lambda data: data["expected"]["calls_max_per_session"].update(binds=0), is_matched=False)
    assert bound == ["round 1: at most 0 binds expected in a session, got 1"]
