"""A caller that keeps its groups in flight, and sees late what it did: nothing is asked for twice.

The clusters are those of `scenarios`: pods take their time to terminate and come back under new uids,
bindings fail, evictions are refused, jobs come and go.
"""

from collections import Counter
from functools import cache

import pytest
from tenure.v1 import decision_pb2, snapshot_pb2

from tests.properties.caller import RELEASING, RUNNING, Caller, Cycle
from tests.properties.scenarios import FAMILIES
from tests.verify.checker import verify

CYCLES = 100
ON_THE_WAY = (
    decision_pb2.IN_FLIGHT_RESULT_KEPT,
    decision_pb2.IN_FLIGHT_RESULT_REDEEMED,
    decision_pb2.IN_FLIGHT_RESULT_FINISHED,
    decision_pb2.IN_FLIGHT_RESULT_CANCELLED,
)
LATE = 50
"""Percent of evictions and bindings that are seen late."""


@cache
def run(family: str, keeps: bool) -> tuple[Caller, list[Cycle], list[str]]:
    """A run: its caller, what was asked and answered, and where the cluster itself was given too much."""
    caller = Caller(FAMILIES[family](3, CYCLES), f"{family} late", remembers=True, keeps=keeps, late=LATE)
    answers, crowded = [], []
    for _ in range(CYCLES):
        answers.append(caller.step())
        crowded += _crowded(caller)
    return caller, answers, crowded


def _crowded(caller: Caller) -> list[str]:
    """Nodes that have more on them than they have, whoever has seen it."""
    used: Counter[str] = Counter()
    for pod in caller.pods.values():
        if pod.status in (RUNNING, RELEASING):
            used[pod.node] += caller.jobs[pod.pod_group].plan.gpus
    gpus = {f"n{number}": gpus for number, gpus in enumerate(caller.scenario.nodes)}
    return [f"{caller.cycle}: {node}" for node in used if used[node] > gpus[node]]


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_asked_for_twice_and_no_node_given_too_much(family: str) -> None:
    caller, _, crowded = run(family, keeps=True)
    assert (caller.repeated, crowded) == ([], [])


def test_a_caller_that_keeps_no_groups_is_asked_twice() -> None:
    repeated = [run(family, keeps=False)[0].repeated for family in FAMILIES]
    assert any(repeated)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_answer_on_the_way_is_sound(family: str) -> None:
    _, answers, _ = run(family, keeps=True)
    assert [violation for answer in answers for violation in verify(*answer)] == []


def test_all_there_is_happens_on_the_way() -> None:
    """Else the tests above say little."""
    results: Counter[int] = Counter()
    steps: Counter[str] = Counter()
    for family in FAMILIES:
        for snapshot, response in run(family, keeps=True)[1]:
            results.update(status.result for status in response.in_flight_groups)
            steps.update(kind for group in snapshot.in_flight_groups for kind in _open(snapshot, group))
    assert all(results[result] for result in ON_THE_WAY)
    assert min(steps["evictions"], steps["holds"], steps["bindings"]) > 10


def _open(snapshot: snapshot_pb2.ClusterSnapshot, group: snapshot_pb2.InFlightGroup) -> list[str]:
    """Kinds of steps of the group that are not seen done."""
    status = {pod.uid: pod.status for pod in snapshot.pods}
    found = ["evictions"] * any(status.get(step.pod) == RUNNING for step in group.evictions)
    found += ["holds"] * any(status.get(step.pod) != RUNNING for step in group.holds)
    return found + ["bindings"] * any(status.get(step.pod) != RUNNING for step in group.bindings)
