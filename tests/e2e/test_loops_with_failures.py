"""The documented loops stay right when a decision fails: none is lost, and no gang stays half-started."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from tenure.client import Client, StateSession
from tenure.client.in_flight import retain_in_flight, track_group, track_results
from tenure.v1 import report_pb2
from tenure.v1.decision_pb2 import ATOMICITY_BEST_EFFORT, Decision, DecisionGroup
from tenure.v1.snapshot_pb2 import ClusterSnapshot, InFlightGroup

from tests.e2e.command import ROOT
from tests.requirements.cluster import ClusterText
from tests.server.servers import run_server

_PAGE: Final = (ROOT / "docs/integrate/python.md").read_text()
(_LOOP,) = (one for one in re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL) if "def reconcile" in one)
_CALLS: Final = ("bind", "evict")
_PASSES: Final = 12
"""Passes of 15 seconds: three minutes, less than the five that a group is in flight at most."""


def gang() -> ClusterText:
    """A gang of three that fits."""
    return ClusterText().node(gpus=3).queue("q", quota=3).waits("new", "q", pods=3)


def evictions() -> ClusterText:
    """A gang of three that needs the places of three pod groups of lower priority."""
    cluster = ClusterText().node(gpus=3).queue("q", quota=3)
    for name in ("a", "b", "c"):
        cluster.runs(name, "q", mode="PREEMPTIBLE")
    return cluster.waits("new", "q", pods=3, priority=75)


def requeue() -> ClusterText:
    """A gang of three that is due, in the place of an urgent one; its own queue has nothing else."""
    cluster = ClusterText().node(gpus=3).queue("b", quota=3).queue("a", quota=3)
    cluster.runs("old", "a", pods=3, expected_runtime="30m", requeue_delay="1h")
    return cluster.waits("new", "b", pods=3, priority=75)


CASES: Final[dict[str, Callable[[], ClusterText]]] = {
    "a gang": gang,
    "evictions": evictions,
    "a requeue": requeue,
}


class _Failing:
    """Which calls fail: one of the first group with this many calls, once."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.calls: list[tuple[str, str, bool]] = []
        """Kind and pod of each call, and whether it was carried out."""

    def fails(self, decision: Decision) -> bool:
        kind = decision.WhichOneof("kind") or ""
        is_failing = len(self.calls) == self.number
        self.calls.append((kind, getattr(decision, kind).pod, not is_failing))
        return is_failing


def run_page(snapshot: ClusterSnapshot, address: str, failing: _Failing) -> Iterator[tuple[Any, Any]]:
    """Run the loop of the page for Python; yields its cluster and store after every pass."""
    parts: dict[str, Any] = {}
    definitions, main = _LOOP.split("cluster, store = ")
    assert "reconcile(cluster, store, client, session)" in main
    exec(definitions, parts)

    class Cluster(parts["Cluster"]):  # type: ignore[misc]
        def apply(self, decision: Decision) -> Any:
            if failing.fails(decision):
                return report_pb2.APPLY_STATUS_FAILED
            return super().apply(decision)

    cluster, store = Cluster(snapshot), parts["Store"]()
    with Client(address) as client, StateSession(client) as session:
        session.push(store.complete(cluster.observe()))
        for _ in range(_PASSES):
            parts["reconcile"](cluster, store, client, session)
            yield cluster, store


class _SilentLoop:
    """A caller as the page about decision groups describes it: it reports nothing, and keeps rows itself."""

    def __init__(self, cluster: Any, failing: _Failing) -> None:
        self.cluster, self.failing = cluster, failing
        self.in_flight: list[InFlightGroup] = []

    def run(self, client: Client) -> None:
        snapshot = self.cluster.observe()
        snapshot.in_flight_groups.extend(self.in_flight)
        response = client.decide(snapshot)
        self.in_flight = retain_in_flight(self.in_flight, response)
        for group in response.groups:
            self.in_flight.append(track_group(group))
            results = list(self._apply(group))
            self.in_flight.pop()
            row = track_results(group, results)
            self.in_flight += [] if row is None else [row]

    def _apply(self, group: DecisionGroup) -> Iterator[report_pb2.DecisionResult]:
        for decision in group.decisions:
            if decision.WhichOneof("kind") not in _CALLS:
                continue
            status = (
                report_pb2.APPLY_STATUS_FAILED
                if self.failing.fails(decision)
                else self.cluster.apply(decision)
            )
            yield report_pb2.DecisionResult(decision_id=decision.id, status=status)
            if status != report_pb2.APPLY_STATUS_APPLIED and group.atomicity != ATOMICITY_BEST_EFFORT:
                return


def run_silent(snapshot: ClusterSnapshot, address: str, failing: _Failing) -> Iterator[tuple[Any, Any]]:
    parts: dict[str, Any] = {}
    exec(_LOOP.split("cluster, store = ")[0], parts)
    loop = _SilentLoop(parts["Cluster"](snapshot), failing)
    with Client(address) as client:
        for _ in range(_PASSES):
            loop.run(client)
            yield loop.cluster, loop


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


def rows_of(group: InFlightGroup) -> set[tuple[str, str]]:
    return {("evict", one.pod) for one in group.evictions} | {("bind", one.pod) for one in group.bindings}


@pytest.mark.parametrize("run", [run_page, run_silent], ids=["with reports", "without reports"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("number", [0, 1, 2, None], ids=["first", "second", "last", "none"])
def test_loop_is_right_when_a_decision_fails(
    server: str, case: str, number: int | None, run: Callable[..., Iterator[tuple[Any, Any]]]
) -> None:
    failing = _Failing(-1 if number is None else number)
    snapshot = CASES[case]().snapshot
    snapshot.cluster_id = f"{case} {number} {run.__name__}"  # a server remembers results of a cluster
    for passes, (cluster, store) in enumerate(run(snapshot, server, failing), 1):
        done = {(kind, pod) for kind, pod, is_done in failing.calls if is_done}
        assert [rows_of(row) - done for row in store.in_flight] == [set()] * len(store.in_flight)
        new = [pod for pod in cluster.observe().pods if pod.pod_group == "new"] if passes == _PASSES else []
        assert all(pod.node == "n" for pod in new)
    assert len({pod for kind, pod, is_done in failing.calls if kind == "bind" and is_done}) == 3
    evicted = [pod for kind, pod, is_done in failing.calls if kind == "evict" and is_done]
    assert len(evicted) == len(set(evicted)) == (0 if case == "a gang" else 3)


def test_row_of_a_repeated_report_is_the_same_and_that_of_a_conflict_stays(server: str) -> None:
    snapshot = gang().snapshot
    with Client(server) as client:
        (group,) = client.decide(snapshot).groups
        first, second, _ = [one for one in group.decisions if one.HasField("bind")]
        request = report_pb2.ReportResultsRequest(cluster_id="proof", now=snapshot.now)
        report = request.groups.add(group=group)
        report.results.add(decision_id=first.id, status=report_pb2.APPLY_STATUS_APPLIED)
        (status,) = client.report_results(request).groups
        assert (status.state, len(status.in_flight.bindings)) == (report_pb2.GROUP_STATE_IN_FLIGHT, 3)
        report.results.add(decision_id=second.id, status=report_pb2.APPLY_STATUS_FAILED)
        for _ in range(2):
            (status,) = client.report_results(request).groups
            assert status.state == report_pb2.GROUP_STATE_CANCELLED
            assert [one.pod for one in status.in_flight.bindings] == [first.bind.pod]
        report.results[1].status = report_pb2.APPLY_STATUS_APPLIED
        (status,) = client.report_results(request).groups
        assert (status.state, status.HasField("in_flight")) == (report_pb2.GROUP_STATE_CONFLICT, False)
