"""A simulated cluster, and a caller that applies decisions there, message by message, with failures.

Evicted pods take time to terminate and return under a new uid. Disruption budgets reject evictions. Bindings
fail, and their pods are held back before they are retried. Jobs arrive and end. Each failure depends on the
seed and its object, not on earlier requests, so two runs of a seed differ only where their decisions differ.
"""

import random
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.client.in_flight import retain_in_flight
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.wire.in_flight_rows import in_flight_row

from tests.properties.thrash.contention_patterns import ContentionPattern, JobPlan

START: Final = 1_750_000_000
"""Time of the first cycle, in seconds since the epoch."""
STEP: Final = 15
"""Seconds from one cycle to the next."""
BURST: Final = 12
"""Cycles for which all bindings of a job fail, or all its evictions are rejected, after the first failure."""
ENGINE: Final = Engine(default_profile())
GATED: Final = snapshot_pb2.POD_STATUS_GATED
PENDING: Final = snapshot_pb2.POD_STATUS_PENDING
RUNNING: Final = snapshot_pb2.POD_STATUS_RUNNING
RELEASING: Final = snapshot_pb2.POD_STATUS_RELEASING


Cycle = tuple[snapshot_pb2.ClusterSnapshot, DecideResponse]
"""A request and its response."""


class JobEviction(NamedTuple):
    """Pods of one job that are evicted for another in one cycle."""

    cycle: int
    victim: str
    preemptor: str
    gone: int
    """Cycle in which the last of them has terminated; the cycle of the eviction if all were rejected."""


@dataclass(slots=True)
class SimulatedJob:
    """A pod group, the pods created for it so far, and the number of cycles it ran with its minimum."""

    plan: JobPlan
    message: snapshot_pb2.PodGroup
    created_pods: int = 0
    worked: int = 0


@dataclass(slots=True)
class SimulatedCaller:
    """Runs a contention pattern.

    `stores_history`: whether it stores eviction records.
    `keeps_in_flight`: whether it sends accepted groups until they are complete.
    If not, it nominates nodes for pods that have a reservation.
    `delay_percent`: how often it sees the effect of a decision on a pod only a cycle or two later.
    """

    scenario: ContentionPattern
    seed: str
    stores_history: bool
    keeps_in_flight: bool = False
    delay_percent: int = 0
    cycle: int = 0
    jobs: dict[str, SimulatedJob] = field(default_factory=dict)
    pods: dict[str, snapshot_pb2.Pod] = field(default_factory=dict)
    eviction_history: dict[tuple[str, str], snapshot_pb2.EvictionRecord] = field(default_factory=dict)
    groups: list[snapshot_pb2.InFlightGroup] = field(default_factory=list)
    """In-flight groups."""
    unseen: dict[str, tuple[int, snapshot_pb2.Pod]] = field(default_factory=dict)
    """Pods as the caller still sees them, with the first cycle in which it sees their actual state."""
    repeated: list[str] = field(default_factory=list)
    """Pods that decisions evict or bind again although that was already done."""
    leaves: dict[str, int] = field(default_factory=dict)
    """Cycle in which a terminating pod is gone."""
    returns: dict[str, int] = field(default_factory=dict)
    """Cycle in which a pod can be retried after a failed binding."""
    evictions: list[JobEviction] = field(default_factory=list)
    starts: dict[str, list[int]] = field(default_factory=dict)
    """Cycles in which pods of a job were bound successfully."""
    worked: int = 0
    """Cycles in which jobs ran with their minimum, summed over all jobs."""

    def step(self) -> Cycle:
        """Request decisions, apply them and advance the time."""
        for plan in self.scenario.plans:
            if plan.arrival == self.cycle:
                self._submit_jobs(plan)
        snapshot = self._snapshot()
        response = ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()
        self.groups = retain_in_flight(self.groups, response)
        for group in response.groups:
            refused = self._apply(group)
            if self.keeps_in_flight:
                self.groups.append(in_flight_row(group, refused))
        self.cycle += 1
        self._pass_time()
        return snapshot, response

    def _snapshot(self) -> snapshot_pb2.ClusterSnapshot:
        message = snapshot_pb2.ClusterSnapshot(
            cluster_id="simulated",
            version=self.cycle,
            nodes=[_node(number, gpus) for number, gpus in enumerate(self.scenario.nodes)],
            queues=self.scenario.queues,
            pod_groups=[job.message for job in self.jobs.values()],
            pods=[self._seen(pod) for pod in self.pods.values()],
            shapes=[_shape(gpus) for gpus in sorted({plan.gpus for plan in self.scenario.plans})],
            eviction_history=self.eviction_history.values(),
            in_flight_groups=self.groups,
        )
        message.now.FromSeconds(START + STEP * self.cycle)
        return message

    def _seen(self, pod: snapshot_pb2.Pod) -> snapshot_pb2.Pod:
        until, before = self.unseen.get(pod.uid, (0, pod))
        return before if self.cycle < until else pod

    def _changes(self, pod: snapshot_pb2.Pod) -> None:
        """Change a pod. Now and then the change is visible later."""
        if self.delay_percent:
            draw = random.Random(f"{self.seed} late {pod.uid} {pod.status}")
            if draw.randrange(100) < self.delay_percent:
                before = snapshot_pb2.Pod()
                before.CopyFrom(pod)
                self.unseen[pod.uid] = (self.cycle + draw.randint(2, 3), before)

    def _submit_jobs(self, plan: JobPlan) -> None:
        message = snapshot_pb2.PodGroup(
            uid=plan.name,
            name=plan.name,
            queue=plan.queue,
            priority=plan.priority,
            preemptibility=snapshot_pb2.PREEMPTIBILITY_PREEMPTIBLE,
            min_member=plan.minimum,
        )
        message.creation_time.FromSeconds(START + STEP * self.cycle)
        self.jobs[plan.name] = SimulatedJob(plan, message)
        for _ in range(plan.pods):
            self._make_pod(plan.name, nominated="")

    def _make_pod(self, job: str, nominated: str) -> None:
        plan, number = self.jobs[job].plan, self.jobs[job].created_pods
        self.jobs[job].created_pods += 1
        name = f"{job}-{number}"
        self.pods[name] = snapshot_pb2.Pod(
            uid=name,
            name=name,
            pod_group=job,
            shape=_shape_id(plan.gpus),
            status=PENDING,
            nominated_node=nominated,
        )

    def _apply(self, group: decision_pb2.DecisionGroup) -> list[str]:
        """Apply decisions and return the ids of failed ones. Patches are stored in any case."""
        gone: dict[str, int] = {}
        refused: list[str] = []
        for decision in group.decisions:
            match decision.WhichOneof("kind"):
                case "evict":
                    job = self.pods[decision.evict.pod].pod_group
                    leaves = self._evict(decision.evict.pod)
                    gone[job] = max(gone.get(job, 0), leaves)
                    if leaves == self.cycle:
                        refused.append(decision.id)
                case "reserve" if not self.keeps_in_flight:
                    self.pods[decision.reserve.pod].nominated_node = decision.reserve.node
                case "bind":
                    if not self._bind(decision.bind):
                        refused.append(decision.id)
                case "patch":
                    self._store(decision.patch)
        for job, cycle in gone.items():
            if job != group.beneficiary:
                self.evictions.append(JobEviction(self.cycle, job, group.beneficiary, cycle))
        return refused

    def _evict(self, uid: str) -> int:
        """Evict a pod; return the cycle in which it is gone, or this cycle if the eviction is rejected."""
        pod = self.pods[uid]
        if self._chance("refused", pod.pod_group, self.scenario.rejection_percent):
            return self.cycle
        if pod.status == RELEASING:
            self.repeated.append(uid)
        self._changes(pod)
        pod.status = RELEASING
        self.leaves[uid] = self._random_delay(uid)
        return self.leaves[uid]

    def _bind(self, bind: decision_pb2.Bind) -> bool:
        """Bind a pod; return whether it runs."""
        pod = self.pods[bind.pod]
        if self._chance("fails", pod.pod_group, self.scenario.failure_percent):
            pod.status, self.returns[pod.uid] = GATED, self._random_delay(pod.uid)
            return False
        if pod.status != PENDING:
            self.repeated.append(pod.uid)
        self._changes(pod)
        pod.status, pod.node, pod.nominated_node = RUNNING, bind.node, ""
        self.starts.setdefault(pod.pod_group, []).append(self.cycle)
        return True

    def _chance(self, what: str, job: str, percent: int) -> bool:
        return random.Random(f"{self.seed} {what} {job} {self.cycle // BURST}").randrange(100) < percent

    def _random_delay(self, uid: str) -> int:
        return self.cycle + random.Random(f"{self.seed} {uid}").randint(1, self.scenario.patience)

    def _store(self, patch: decision_pb2.Patch) -> None:
        message = self.jobs[patch.pod_group].message
        match patch.WhichOneof("change"):
            case "set_eviction_record":
                if self.stores_history:
                    self.eviction_history[
                        patch.set_eviction_record.victim, patch.set_eviction_record.preemptor
                    ] = patch.set_eviction_record
            case "delete_eviction_record":
                del self.eviction_history[patch.pod_group, patch.delete_eviction_record]
            case "clear_stale_since":
                message.ClearField("stale_since")
            case "eviction_count" | "evictions_without_progress" | "held_by" as count:
                setattr(message, count, getattr(patch, count))
            case field:
                getattr(message, field).CopyFrom(getattr(patch, field))

    def _pass_time(self) -> None:
        """Return pods to the cluster, and end jobs that have run for long enough."""
        for uid in self._due(self.leaves):
            pod = self.pods.pop(uid)
            self._make_pod(pod.pod_group, pod.nominated_node)
        for uid in self._due(self.returns):
            self.pods[uid].status = PENDING
        for job in list(self.jobs.values()):
            running = sum(p.status == RUNNING for p in self.pods.values() if p.pod_group == job.plan.name)
            if running >= job.plan.minimum:
                job.worked += 1
                self.worked += 1
            if job.worked >= job.plan.work:
                self._end(job.plan.name)

    def _due(self, times: dict[str, int]) -> list[str]:
        """Remove and return the pods that are due."""
        due = [uid for uid, cycle in times.items() if cycle <= self.cycle]
        for uid in due:
            del times[uid]
        return due

    def _end(self, name: str) -> None:
        """Delete a job with its pods and its eviction records."""
        del self.jobs[name]
        self.pods = {uid: pod for uid, pod in self.pods.items() if pod.pod_group != name}
        for times in (self.leaves, self.returns):
            for uid in [uid for uid in times if uid not in self.pods]:
                del times[uid]
        self.eviction_history = {
            pair: memory for pair, memory in self.eviction_history.items() if name not in pair
        }


def _node(number: int, gpus: int) -> snapshot_pb2.Node:
    node = snapshot_pb2.Node(name=f"n{number}")
    node.allocatable.cpu_milli, node.allocatable.memory_bytes = 64_000, 1 << 38
    node.allocatable.gpu_milli, node.allocatable.pods = gpus * 1000, 110
    return node


def _shape(gpus: int) -> snapshot_pb2.PodShape:
    shape = snapshot_pb2.PodShape(id=_shape_id(gpus))
    shape.requests.cpu_milli, shape.requests.memory_bytes = 1000, 1 << 30
    shape.gpu.devices = gpus
    return shape


def _shape_id(gpus: int) -> str:
    return f"gpus-{gpus}"
