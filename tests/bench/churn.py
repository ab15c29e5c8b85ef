"""Measures cycles on a changing cluster: decisions are applied, and new jobs arrive.

The measured time is that of one call, from a complete delta to its decisions. The first cycle is not counted,
because it includes lazy imports. Every run starts a server and pushes the same snapshot.

In U5 jobs arrive, are bound, run and end. In every cycle 50 jobs arrive, 50 jobs are bound, 50 jobs start to
run and 50 jobs end: a delta has 200 pods. The response binds the 50 new jobs. S6 measures single reclaims
(`single_reclaims`).
"""

import time
from collections import deque
from typing import Final

from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.state_pb2 import StateDelta, StateReference

from tests.bench.case_server import CaseServer, serve_case
from tests.bench.decide_measurement import UnexpectedCounts
from tests.bench.sample import Sample, StealMeter, load_average, tail
from tests.bench.workloads.case import CallMode, Case, DecisionCounts
from tests.bench.workloads.single_reclaims import SingleReclaims
from tests.bench.workloads.snapshot_fixture import MINUTE_S

CYCLES: Final = 100
JOBS: Final = 50
"""Jobs that arrive, and jobs that end, in one cycle."""


class ChurningCluster:
    """The caller of U5: the running, bound and pending jobs."""

    cycles: Final = CYCLES

    def __init__(self, snapshot: pb.ClusterSnapshot) -> None:
        self._jobs = min(JOBS, len(snapshot.nodes) // 4)
        self.expected = DecisionCounts(self._jobs, 0, 0, {"BOUND": self._jobs})
        self._now_s = snapshot.now.seconds
        self._pods = {pod.uid: pod for pod in snapshot.pods}
        self._groups = {group.uid: group for group in snapshot.pod_groups}
        self._running = deque(self._groups)
        self._bound: list[str] = []
        self._count = 0

    def delta(self, base: StateReference, answer: DecideResponse | None) -> StateDelta:
        """Return the delta since the response: applied decisions, ended jobs and new jobs."""
        self._now_s += MINUTE_S
        delta = StateDelta(base=base, version=base.version + 1, now={"seconds": self._now_s})
        for uid in self._bound:
            self._move(delta, uid, pb.POD_STATUS_RUNNING)
        self._running.extend(self._bound)
        self._bound = self._apply(delta, answer)
        self._end(delta)
        self._submit(delta)
        return delta

    def _apply(self, delta: StateDelta, answer: DecideResponse | None) -> list[str]:
        """Bind the pods of a response and start their jobs."""
        bound = []
        for group in answer.groups if answer else ():
            for step in group.decisions:
                if step.HasField("bind"):
                    self._pods[step.bind.pod].node = step.bind.node
                    bound.append(self._pods[step.bind.pod].pod_group)
                    self._move(delta, bound[-1], pb.POD_STATUS_BOUND)
        return bound

    def _move(self, delta: StateDelta, job: str, status: pb.PodStatus) -> None:
        pod, group = self._pods[f"{job}-0"], self._groups[job]
        pod.status = status
        group.last_start_time.seconds = self._now_s
        delta.upserts.pods.add().CopyFrom(pod)
        delta.upserts.pod_groups.add().CopyFrom(group)

    def _end(self, delta: StateDelta) -> None:
        for _ in range(self._jobs):
            uid = self._running.popleft()
            delta.removals.pods.append(f"{uid}-0")
            delta.removals.pod_groups.append(uid)
            del self._pods[f"{uid}-0"], self._groups[uid]

    def _submit(self, delta: StateDelta) -> None:
        for _ in range(self._jobs):
            uid = f"new-{self._count:06}"
            queue = f"queue-{self._count % 4}"
            self._count += 1
            group = delta.upserts.pod_groups.add(uid=uid, name=uid, queue=queue, min_member=1, priority=50)
            group.creation_time.seconds = self._now_s
            pod = delta.upserts.pods.add(
                uid=f"{uid}-0", pod_group=uid, shape="gpu1", status=pb.POD_STATUS_PENDING
            )
            self._groups[uid] = pb.PodGroup.FromString(group.SerializeToString())
            self._pods[pod.uid] = pb.Pod.FromString(pod.SerializeToString())


def measure_churn(case: Case, runs: int, cycles: int | None = None) -> Sample:
    """Measure this many runs of this many cycles. Raises UnexpectedCounts if the counts of a cycle differ."""
    snapshot = case.build()
    theft, wall, cpu, tails, peaks = StealMeter(), [], [], [], []
    for _ in range(runs):
        motion = SingleReclaims(snapshot) if case.workload == "S6" else ChurningCluster(snapshot)
        with serve_case(case) as server:
            state = server.client.put_snapshot("bench", snapshot)
            tally, times = _run_cycles(case, server, motion, state, cycles or motion.cycles)
            peaks.append(server.peak_mib)
        wall += [wall_ms for wall_ms, _ in times]
        cpu += [cpu_ms for _, cpu_ms in times]
        tails.append(tail(wall[-len(times) :]))
    host, outcome = (load_average(), theft.share()), tally._asdict()
    return Sample(case.name, CallMode.CHURN, wall, cpu, {}, outcome, *host, max(peaks), tails)


def _run_cycles(
    case: Case,
    server: CaseServer,
    motion: ChurningCluster | SingleReclaims,
    state: StateReference,
    cycles: int,
) -> tuple[DecisionCounts, list[tuple[float, float]]]:
    """Return the counts of every cycle, and the times of all but the first."""
    times = []
    answer: DecideResponse | None = None
    for _ in range(1 + cycles):
        delta = motion.delta(state, answer)
        cpu_begin, begin = server.cpu_ms(), time.perf_counter()
        state, answer = server.client.apply_and_decide(delta, case.actions)
        wall = (time.perf_counter() - begin) * 1e3
        times.append((wall, server.cpu_ms() - cpu_begin))
        tally = DecisionCounts.from_response(answer)
        if tally != motion.expected:
            raise UnexpectedCounts(f"{case.name}: should be {motion.expected}, and is {tally}")
    return tally, times[1:]
