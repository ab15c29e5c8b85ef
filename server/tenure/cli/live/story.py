"""A cluster that moves: a story of jobs, played in a loop on a server, with the decisions of that server.

Nothing is recorded but the arrivals: every eviction that the story shows was decided when it was played.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

import yaml
from tenure.client import Client, StateSession
from tenure.client.in_flight import retain_in_flight, track_group
from tenure.integration.journal import PendingPatches
from tenure.terms.durations import SECOND, parse_duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Decision

TICK_SECONDS: Final = 1.0
_WHOLE: Final = 1000
_CORE: Final = 1000
_GIB: Final = 2**30


@dataclass
class Job:
    """A job of the story. Times in seconds."""

    name: str
    queue: str
    at: float
    pods: int = 1
    gpus: float = 1
    priority: int = 50
    preemptibility: str = "UNSPECIFIED"
    min_member: int = 0
    """0: all pods."""
    runtime: float = 0
    """0: until the loop ends."""
    expected_runtime: str = ""
    requeue_delay: str = ""
    opt_out: list[str] = field(default_factory=list)
    worked: float = field(default=0, init=False)


class Story:
    """The rows of the cluster; `play` moves them by one tick."""

    def __init__(self, session: StateSession, description: Mapping[str, Any] | None = None) -> None:
        """Without a description, the story that is part of the package."""
        self._session = session
        self._description = description or yaml.safe_load(_read())
        self._period, self._termination = self._description["period"], self._description["termination"]
        self._loop, self._number = -1, 0
        self._began = 0.0
        self._leaving: dict[str, float] = {}
        self._jobs: list[Job] = []
        self._running: dict[str, Job] = {}
        """By uid of the pod group."""
        self.rows = _cluster(self._description)

    def play(self, now: float) -> DecideResponse:
        """Move the cluster to a time in seconds, decide, and apply the decisions."""
        if self._loop < 0 or now - self._began >= self._period:
            self._begin(now)
        self.rows.version += 1
        self.rows.now.FromNanoseconds(int(now * SECOND))
        self._finish_pods(now)
        self._arrive(now)
        if self.rows.version == 1:
            self._session.push(self.rows)
        else:
            self._session.update(self.rows)
        response = self._session.decide()
        self._apply(response, now)
        return response

    def _begin(self, now: float) -> None:
        self._loop, self._began = self._loop + 1, now
        self._jobs = [Job(**job) for job in self._description["jobs"]]
        self._running.clear()
        self._leaving.clear()
        for rows in (
            self.rows.pods,
            self.rows.pod_groups,
            self.rows.eviction_history,
            self.rows.in_flight_groups,
        ):
            del rows[:]

    def _arrive(self, now: float) -> None:
        due = [job for job in self._jobs if self._began + job.at <= now]
        for job in due:
            self._jobs.remove(job)
            uid = f"{job.name}-{self._loop}"
            self._running[uid] = job
            group = self.rows.pod_groups.add(
                uid=uid,
                name=job.name,
                namespace=job.queue,
                queue=job.queue,
                priority=job.priority,
                preemptibility=f"PREEMPTIBILITY_{job.preemptibility}",
                min_member=job.min_member or job.pods,
                opt_out_actions=job.opt_out,
            )
            group.creation_time.FromNanoseconds(int(now * SECOND))
            for key in ("expected_runtime", "requeue_delay"):
                if text := getattr(job, key):
                    getattr(group, key).FromNanoseconds(parse_duration(text))
            for _ in range(job.pods):
                self._add_pod(uid, job)

    def _add_pod(self, uid: str, job: Job) -> None:
        self._number += 1
        name = f"{uid}-{self._number}"
        pod = self.rows.pods.add(uid=name, name=name, pod_group=uid, status=pb.POD_STATUS_PENDING)
        pod.shape = f"{job.gpus:g}-gpu"
        pod.creation_time.CopyFrom(self.rows.now)

    def _finish_pods(self, now: float) -> None:
        """Bound pods run, evicted ones are gone and created again, and jobs whose work is done end."""
        for uid, job in list(self._running.items()):
            pods = [pod for pod in self.rows.pods if pod.pod_group == uid]
            if sum(pod.status == pb.POD_STATUS_RUNNING for pod in pods) >= (job.min_member or job.pods):
                job.worked += TICK_SECONDS
            if job.runtime and job.worked >= job.runtime:
                self._remove(uid)
        for pod in list(self.rows.pods):
            if pod.status == pb.POD_STATUS_BOUND:
                pod.status = pb.POD_STATUS_RUNNING
            elif pod.status == pb.POD_STATUS_RELEASING and now >= self._leaving.get(pod.uid, 0):
                self.rows.pods.remove(pod)
                self._add_pod(pod.pod_group, self._running[pod.pod_group])

    def _remove(self, uid: str) -> None:
        del self._running[uid]
        for rows in (self.rows.pods, self.rows.pod_groups):
            for row in [row for row in rows if uid in (row.uid, getattr(row, "pod_group", ""))]:
                rows.remove(row)  # type: ignore[arg-type]

    def _apply(self, response: DecideResponse, now: float) -> None:
        kept = retain_in_flight(self.rows.in_flight_groups, response)
        kept += [track_group(group) for group in response.groups if any(map(_acts, group.decisions))]
        del self.rows.in_flight_groups[:]
        self.rows.in_flight_groups.extend(kept)
        pods = {pod.uid: pod for pod in self.rows.pods}
        patches: dict[str, PendingPatches] = {}
        for group in response.groups:
            for decision in group.decisions:
                if decision.HasField("bind"):
                    pod = pods[decision.bind.pod]
                    pod.node, pod.status = decision.bind.node, pb.POD_STATUS_BOUND
                    pod.gpu_groups[:] = decision.bind.gpu_groups
                elif decision.HasField("evict"):
                    pods[decision.evict.pod].status = pb.POD_STATUS_RELEASING
                    self._leaving[decision.evict.pod] = now + self._termination
                elif decision.HasField("patch"):
                    self._store(decision, patches)
        for row in self.rows.pod_groups:
            if row.uid in patches:
                row.CopyFrom(patches[row.uid].applied_to(row))

    def _store(self, decision: Decision, patches: dict[str, PendingPatches]) -> None:
        patch = decision.patch
        kind, history = patch.WhichOneof("change"), self.rows.eviction_history
        if kind in ("set_eviction_record", "delete_eviction_record"):
            preemptor = patch.set_eviction_record.preemptor or patch.delete_eviction_record
            for record in [
                each for each in history if (each.victim, each.preemptor) == (patch.pod_group, preemptor)
            ]:
                history.remove(record)
            if kind == "set_eviction_record":
                history.append(patch.set_eviction_record)
        else:
            patches.setdefault(patch.pod_group, PendingPatches()).add(patch)


def play(address: str, is_stopped: threading.Event) -> Iterator[DecideResponse]:
    """Play the story on the server at an address, a tick each second, until the event is set."""
    with Client(address) as client, StateSession(client) as session:
        story = Story(session)
        while not is_stopped.is_set():
            yield story.play(time.time())
            is_stopped.wait(TICK_SECONDS)


def _acts(decision: Decision) -> bool:
    return decision.WhichOneof("kind") in ("bind", "evict", "reserve")


def _read() -> str:
    return files("tenure.cli").joinpath("samples", "story.yaml").read_text(encoding="utf-8")


def _cluster(description: Mapping[str, Any]) -> pb.ClusterSnapshot:
    rows = pb.ClusterSnapshot(cluster_id="demo")
    for number in range(1, description["nodes"]["number"] + 1):
        node = rows.nodes.add(name=f"gpu-{number}", gpu_memory_mib=40_900)
        size = node.allocatable
        size.cpu_milli, size.memory_bytes, size.pods = 64 * _CORE, 512 * _GIB, 110
        size.gpu_milli = description["nodes"]["gpus"] * _WHOLE
    for queue in description["queues"]:
        row = rows.queues.add(name=queue["name"], parent=queue.get("parent", ""))
        row.gpu_milli.quota = queue["quota"] * _WHOLE
        for key in ("reclaim_min_runtime", "preempt_min_runtime"):
            if key in queue:
                getattr(row, key).FromNanoseconds(parse_duration(queue[key]))
    for gpus in sorted({job.get("gpus", 1) for job in description["jobs"]}):
        shape = rows.shapes.add(id=f"{gpus:g}-gpu")
        shape.requests.cpu_milli, shape.requests.memory_bytes = int(6 * _CORE * gpus), int(32 * gpus) * _GIB
        shape.gpu.devices = max(1, int(gpus))
        if gpus < 1:
            shape.gpu.portion_milli = int(gpus * _WHOLE)
    return rows
