"""Measures calls to a server process: whole snapshots, deltas, unchanged states, simulations."""

import time
from collections.abc import Callable
from typing import Any, Final

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.bench.case_server import CaseServer, serve_case
from tests.bench.decide_measurement import UnexpectedCounts, require_expected
from tests.bench.sample import Sample, StealMeter, load_average
from tests.bench.workloads.case import CallMode, Case, DecisionCounts

TimedCall = Callable[[], DecideResponse]
Step = Callable[[], TimedCall]
"""Prepares the request of one run and returns the function that sends it."""

QUICK: Final = (CallMode.AGAIN, CallMode.WHAT_IF)
"""Modes that take milliseconds. They run often enough for a 99th percentile."""
MOST: Final = 1_000
MOST_SECONDS: Final = 10.0
"""Time limit in seconds for the additional runs of a quick mode."""


def measure_calls(case: Case, way: CallMode, runs: int) -> Sample:
    """Measure this many calls of one mode. Raises UnexpectedCounts."""
    most = MOST if way in QUICK and runs > 1 else runs
    with serve_case(case) as server:
        step = _STEPS[way](case, server, case.build())
        step()()  # the first call of a server includes lazy imports
        theft = StealMeter()
        wall: list[float] = []
        cpu: list[float] = []
        while len(wall) < runs or (len(wall) < most and sum(wall) < MOST_SECONDS * 1e3):
            call = step()
            cpu_begin, begin = server.cpu_ms(), time.perf_counter()
            answer = call()
            wall.append((time.perf_counter() - begin) * 1e3)
            cpu.append(server.cpu_ms() - cpu_begin)
        counters = {field.name: value for field, value in answer.counters.ListFields()}
        tally = DecisionCounts.from_response(answer)
        outcome = tally._asdict() if way is CallMode.WHAT_IF else require_expected(case, tally)
        host = load_average(), theft.share()
        return Sample(case.name, way, wall, cpu, counters, outcome, *host, server.peak_mib)


def _cold(case: Case, server: CaseServer, snapshot: ClusterSnapshot) -> Step:
    return lambda: lambda: server.client.decide(snapshot, case.actions)


def _repeated(case: Case, server: CaseServer, snapshot: ClusterSnapshot) -> Step:
    state = server.client.put_snapshot("bench", snapshot)
    return lambda: lambda: server.client.decide_state(state, case.actions)


def _warm(case: Case, server: CaseServer, snapshot: ClusterSnapshot) -> Step:
    state = server.client.put_snapshot("bench", snapshot)
    newcomer = ReplacedJob(snapshot)

    def step() -> TimedCall:
        delta = newcomer.delta(state)

        def call() -> DecideResponse:
            nonlocal state
            state, answer = server.client.apply_and_decide(delta, case.actions)
            return answer

        return call

    return step


def _simulation(case: Case, server: CaseServer, snapshot: ClusterSnapshot) -> Step:
    """Simulate one more job. Raises UnexpectedCounts if it is not placed."""
    state = server.client.put_snapshot("bench", snapshot)
    job = ClusterSnapshot()
    group = job.pod_groups.add(uid="what-if", queue=snapshot.pod_groups[-1].queue, min_member=1)
    group.creation_time.seconds = snapshot.now.seconds
    job.pods.add(uid="what-if-0", pod_group="what-if", shape=snapshot.pods[-1].shape, status=1)
    request = SimulateRequest(state=state, upserts=job, actions=case.actions)

    def call() -> DecideResponse:
        answer = server.client.simulate(request).cycles[0]
        if len(answer.outcomes) != 1 or answer.outcomes[0].bound != 1:
            raise UnexpectedCounts(f"{case.name}: the job of a simulation is not bound")
        return answer

    return lambda: call


class ReplacedJob:
    """Removes the last job of a snapshot and adds it with another uid. No placement changes."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._group = snapshot.pod_groups[-1]
        self._pods = [pod for pod in snapshot.pods if pod.pod_group == self._group.uid]
        self._now = snapshot.now
        self._uid, self._uids, self._times = self._group.uid, [pod.uid for pod in self._pods], 0

    def delta(self, base: StateReference) -> StateDelta:
        """Return the next such delta."""
        delta = StateDelta(base=base, version=base.version + 1, now=self._now)
        delta.removals.pod_groups.append(self._uid)
        delta.removals.pods.extend(self._uids)
        self._times += 1
        self._uid = f"{self._group.uid}-{self._times:04}"
        self._uids = [f"{self._uid}-{i}" for i in range(len(self._pods))]
        delta.upserts.pod_groups.add().CopyFrom(self._group)
        delta.upserts.pod_groups[0].uid = self._uid
        for uid, pod in zip(self._uids, self._pods, strict=True):
            fresh = delta.upserts.pods.add()
            fresh.CopyFrom(pod)
            fresh.uid, fresh.pod_group = uid, self._uid
        return delta


_STEPS: Final[dict[CallMode, Callable[[Case, CaseServer, ClusterSnapshot], Any]]] = {
    CallMode.COLD: _cold,
    CallMode.WARM: _warm,
    CallMode.AGAIN: _repeated,
    CallMode.WHAT_IF: _simulation,
}
