"""What really happened, as a policy: it starts and stops jobs when records say so.

Played on the trace of the same records, it gives the figures of the real cluster by the accounts of any other
policy.
"""

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tenure.simulator.job_run import BOUND, PENDING, RUNNING
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import DecisionGroup
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.timestamps import timestamp


class Moment(NamedTuple):
    """A job that started, or that stopped before it was done."""

    time: int
    """Nanoseconds since the Unix epoch."""
    job: str
    nodes: tuple[str, ...] = ()
    """Where it started, in the order of its pods; empty: it stopped."""
    why: str = ""
    """The action that evicted it, or `failed`."""
    beneficiary: str = ""


@dataclass(frozen=True)
class History:
    """All moments, by time."""

    moments: Sequence[Moment]

    def __str__(self) -> str:
        """Every moment, for the digest of a run."""
        return json.dumps(self.moments)


class HistoryDecider:
    """Repeats a history. A job that the simulation still terminates starts as soon as it can."""

    def __init__(self, history: History) -> None:
        self._left = deque(history.moments)
        self._started: dict[str, Moment] = {}
        """Jobs that run at this time in the history."""
        self._pods: dict[str, dict[str, Pod]] = {}
        self._job_of: dict[str, str] = {}

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """What happened since the last call."""
        self._read(delta)
        now, response = delta.now.ToNanoseconds(), DecideResponse()
        while self._left and self._left[0].time <= now:
            moment = self._left.popleft()
            if moment.nodes:
                self._started[moment.job] = moment
            else:
                self._started.pop(moment.job, None)
                self._stop(response, moment, delta.version)
        for job, moment in self._started.items():
            self._start(response, job, moment, delta.version)
        if self._left:
            response.next_wake_time.CopyFrom(timestamp(self._left[0].time))
        return response

    def _read(self, delta: StateDelta) -> None:
        for pod in delta.upserts.pods:
            self._pods.setdefault(pod.pod_group, {})[pod.uid] = pod
            self._job_of[pod.uid] = pod.pod_group
        for uid in delta.removals.pods:
            self._pods[self._job_of.pop(uid)].pop(uid, None)
        for job in delta.removals.pod_groups:
            self._pods.pop(job, None)
            self._started.pop(job, None)

    def _stop(self, response: DecideResponse, moment: Moment, version: int) -> None:
        pods = [pod for pod in self._pods.get(moment.job, {}).values() if pod.status in (BOUND, RUNNING)]
        if pods:
            group = self._group(response, moment.why, moment.beneficiary, version)
            for pod in pods:
                group.decisions.add().evict.pod = pod.uid

    def _start(self, response: DecideResponse, job: str, moment: Moment, version: int) -> None:
        pods = [pod for pod in self._pods.get(job, {}).values() if pod.status == PENDING]
        if pods:
            group = self._group(response, "allocate", job, version)
            for number, pod in enumerate(pods):
                bind = group.decisions.add().bind
                bind.pod, bind.node = pod.uid, moment.nodes[number % len(moment.nodes)]

    @staticmethod
    def _group(response: DecideResponse, action: str, beneficiary: str, version: int) -> DecisionGroup:
        number = len(response.groups)
        return response.groups.add(id=f"{version}/{number}", action=action, beneficiary=beneficiary)
