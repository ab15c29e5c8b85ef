"""A caller that sends in-flight groups and sees their effects late receives no decision twice.

The clusters are those of `contention_patterns`: pods take time to terminate and return under new uids,
bindings fail, evictions are rejected, jobs come and go.
"""

from collections import Counter
from functools import cache

import pytest
from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.checker import verify
from tests.properties.thrash.contention_patterns import FAMILIES
from tests.properties.thrash.simulated_caller import RELEASING, RUNNING, Cycle, SimulatedCaller

pytestmark = pytest.mark.long

CYCLES = 100
IN_FLIGHT = (
    decision_pb2.IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    decision_pb2.IN_FLIGHT_GROUP_STATE_SUPERSEDED,
    decision_pb2.IN_FLIGHT_GROUP_STATE_COMPLETED,
    decision_pb2.IN_FLIGHT_GROUP_STATE_CANCELLED,
)
DELAYED = 50
"""Percentage of evictions and bindings whose effect is visible late."""


@cache
def run(family: str, keeps: bool) -> tuple[SimulatedCaller, list[Cycle], list[str]]:
    """A run: its caller, requests and responses, and the nodes that were overcommitted."""
    caller = SimulatedCaller(
        FAMILIES[family](3, CYCLES),
        f"{family} late",
        stores_history=True,
        keeps_in_flight=keeps,
        delay_percent=DELAYED,
    )
    answers, crowded = [], []
    for _ in range(CYCLES):
        answers.append(caller.step())
        crowded += _overcommitted_nodes(caller)
    return caller, answers, crowded


def _overcommitted_nodes(caller: SimulatedCaller) -> list[str]:
    """Nodes that are overcommitted in the cluster itself, whether or not the caller sees it."""
    used: Counter[str] = Counter()
    for pod in caller.pods.values():
        if pod.status in (RUNNING, RELEASING):
            used[pod.node] += caller.jobs[pod.pod_group].plan.gpus
    gpus = {f"n{number}": gpus for number, gpus in enumerate(caller.scenario.nodes)}
    return [f"{caller.cycle}: {node}" for node in used if used[node] > gpus[node]]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_decision_is_repeated_and_no_node_overcommitted(family: str) -> None:
    caller, _, crowded = run(family, keeps=True)
    assert (caller.repeated, crowded) == ([], [])


def test_caller_without_in_flight_groups_gets_repeated_decisions() -> None:
    repeated = [run(family, keeps=False)[0].repeated for family in FAMILIES]
    assert any(repeated)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_response_passes_the_checker(family: str) -> None:
    _, answers, _ = run(family, keeps=True)
    assert [violation for answer in answers for violation in verify(*answer)] == []


def test_runs_contain_every_in_flight_state_and_kind() -> None:
    """Without every state and kind in the runs, the tests above prove little."""
    results: Counter[int] = Counter()
    steps: Counter[str] = Counter()
    for family in FAMILIES:
        for snapshot, response in run(family, keeps=True)[1]:
            results.update(status.state for status in response.in_flight_group_statuses)
            steps.update(kind for group in snapshot.in_flight_groups for kind in _open_kinds(snapshot, group))
    assert all(results[result] for result in IN_FLIGHT)
    assert min(steps["evictions"], steps["reservations"], steps["bindings"]) > 10


def _open_kinds(snapshot: snapshot_pb2.ClusterSnapshot, group: snapshot_pb2.InFlightGroup) -> list[str]:
    """Kinds of decisions of the group that are not visible yet."""
    status = {pod.uid: pod.status for pod in snapshot.pods}
    found = ["evictions"] * any(status.get(step.pod) == RUNNING for step in group.evictions)
    found += ["reservations"] * any(status.get(step.pod) != RUNNING for step in group.reservations)
    return found + ["bindings"] * any(status.get(step.pod) != RUNNING for step in group.bindings)
