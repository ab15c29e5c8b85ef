"""Workloads that start in an order: no pod waits for pods that nobody has created yet.

The controller of each kind is played: it creates the next pods only after the earlier ones run. The server
decides on each snapshot, and its bindings are carried out.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pytest
from tenure.client import Client
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.observe.cached_cluster import NOW, node, queue
from tests.kubernetes.owners.owner_chains import OwnedPods, groups_of

LWS: Final = "leaderworkerset.sigs.k8s.io"
GPU: Final = {"cpu": "1", "nvidia.com/gpu": "1"}


class Workload(NamedTuple):
    """A workload that starts in steps."""

    create: Callable[[OwnedPods], None]
    """Creates its owners."""
    steps: Sequence[Sequence[str]]
    """Names of the pods of each step."""
    meta: Callable[[str], dict[str, Any]]
    """Owner and metadata of a pod."""


def leader_ready(world: OwnedPods) -> None:
    spec = {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 3}}
    world.owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet/l", spec=spec)
    world.owner("apps/v1", "StatefulSet/l", "LeaderWorkerSet/l")


def replica(name: str) -> dict[str, Any]:
    number = name.partition("-")[2]
    labels = {f"{LWS}/group-key": "key", f"{LWS}/worker-index": number}
    return {"by": "StatefulSet/l", "labels": labels, "annotations": {f"{LWS}/size": "3"}}


def jobs_of(**more: Any) -> Callable[[OwnedPods], None]:
    def create(world: OwnedPods) -> None:
        first, second = ({"name": name, "template": {"spec": {"parallelism": 2}}} for name in ("z", "a"))
        second |= more.get("second", {})
        spec = {"replicatedJobs": [first, second], **more.get("spec", {})}
        world.owner("jobset.x-k8s.io/v1alpha2", "JobSet/s", spec=spec)

    return create


def of_job(name: str) -> dict[str, Any]:
    return {"by": "JobSet/s", "labels": {"jobset.sigs.k8s.io/replicatedjob-name": name.partition("-")[0]}}


def workers_first(minimum: int | None = None) -> Callable[[OwnedPods], None]:
    def create(world: OwnedPods) -> None:
        roles = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
        policy = {"schedulingPolicy": {"minAvailable": minimum}} if minimum else {}
        world.owner(
            "kubeflow.org/v2beta1",
            "MPIJob/m",
            spec={
                "mpiReplicaSpecs": roles,
                "launcherCreationPolicy": "WaitForWorkersReady",
                "runPolicy": policy,
            },
        )

    return create


def of_mpi(name: str) -> dict[str, Any]:
    return {"by": "MPIJob/m", "labels": {"training.kubeflow.org/job-role": name.partition("-")[0]}}


IN_ORDER: Final = {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}
DEPENDS: Final = {"second": {"dependsOn": [{"name": "z", "status": "Ready"}]}}
JOBS: Final = (("z-0", "z-1"), ("a-0", "a-1"))
WORKLOADS: Final = {
    "LeaderWorkerSet, LeaderReady": Workload(leader_ready, (("l-0",), ("l-1", "l-2")), replica),
    "JobSet, InOrder": Workload(jobs_of(**IN_ORDER), JOBS, of_job),
    "JobSet, dependsOn": Workload(jobs_of(**DEPENDS), JOBS, of_job),
    "MPIJob, WaitForWorkersReady": Workload(
        workers_first(), (("worker-0", "worker-1"), ("launcher-0",)), of_mpi
    ),
    "MPIJob, WaitForWorkersReady, with a minimum of all": Workload(
        workers_first(3), (("worker-0", "worker-1"), ("launcher-0",)), of_mpi
    ),
}
STARTED: Final = ("LeaderWorkerSet, LeaderReady", "JobSet, InOrder", "JobSet, dependsOn")


class Stage:
    """A cluster with one workload, and the server that decides on it."""

    def __init__(self, transport: Transport, client: Client, workload: Workload, gpus: int) -> None:
        self.world, self.client, self.workload = OwnedPods(transport), client, workload
        amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        self.world.world.put("nodes", node(allocatable=amounts))
        amount = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        resources = dict.fromkeys(("cpu", "memory", "gpu"), amount)
        self.world.world.put("kai_queues", queue("default-queue", resources=resources))
        workload.create(self.world)
        self.builder = self.world.builder()

    def pod(self, name: str, phase: str = "Pending") -> None:
        """Create a pod, or change its phase."""
        meta = self.workload.meta(name)
        self.world.pod(name, phase=phase, requests=GPU, **meta)

    def bound(self) -> set[str]:
        """Names of the pods that one decision binds; it evicts none."""
        snapshot = self.builder.snapshot(NOW)
        names = {row.uid: row.name for row in snapshot.pods}
        decisions = [one for group in self.client.decide(snapshot).groups for one in group.decisions]
        assert {one.WhichOneof("kind") for one in decisions} <= {"bind", "patch"}
        return {names[one.bind.pod] for one in decisions if one.WhichOneof("kind") == "bind"}

    def run(self, *names: str) -> None:
        """Carry out bindings."""
        for name in names:
            self.pod(name, "Running")


@pytest.mark.parametrize("case", WORKLOADS)
def test_each_step_starts_when_its_pods_exist(transport: Transport, client: Client, case: str) -> None:
    workload = WORKLOADS[case]
    stage = Stage(transport, client, workload, gpus=8)
    for step in workload.steps:
        for name in step:
            stage.pod(name)
        assert stage.bound() == set(step)
        stage.run(*step)
    assert stage.bound() == set()


@pytest.mark.parametrize("case", STARTED)
def test_a_later_step_starts_as_a_whole(transport: Transport, client: Client, case: str) -> None:
    """Neither a part of it that exists nor a part of it that fits is started."""
    workload = WORKLOADS[case]
    first, (early, late) = workload.steps
    stage = Stage(transport, client, workload, gpus=len(first) + 1)
    for name in first:
        stage.pod(name)
    assert stage.bound() == set(first)
    stage.run(*first)
    stage.pod(early)
    assert stage.bound() == set()
    [waiting] = [row for row in stage.builder.snapshot(NOW).pods if row.name == early]
    assert "not all pods of role" in waiting.blocked_reason
    stage.pod(late)
    assert stage.bound() == set()
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
    stage.world.world.put("nodes", node(allocatable=amounts))
    assert stage.bound() == {early, late}


@pytest.mark.parametrize("case", WORKLOADS)
def test_restarted_pods_of_an_earlier_step_start_again(
    transport: Transport, client: Client, case: str
) -> None:
    workload = WORKLOADS[case]
    stage = Stage(transport, client, workload, gpus=8)
    first, second = workload.steps
    stage.run(*first, *second)
    assert stage.bound() == set()
    stage.pod(first[0])
    assert stage.bound() == {first[0]}


def test_a_step_that_waits_for_completion_starts_after_it(transport: Transport, client: Client) -> None:
    """The status Complete in `dependsOn` of a JobSet: the first pods have ended, and may be deleted."""
    depends = {"second": {"dependsOn": [{"name": "z", "status": "Complete"}]}}
    stage = Stage(transport, client, Workload(jobs_of(**depends), JOBS, of_job), gpus=2)
    first, second = JOBS
    for name in first:
        stage.pod(name, "Succeeded")
    for name in second:
        stage.pod(name)
    assert stage.bound() == set(second)
    for name in first:
        stage.world.world.remove("pods", f"uid-{name}")
    assert stage.bound() == set(second)


def test_the_last_pods_of_a_job_do_not_wait_for_pods_that_ended(transport: Transport, client: Client) -> None:
    """Two of three pods succeeded; the controller replaces one that failed."""
    single = {"replicatedJobs": [{"name": "z", "template": {"spec": {"parallelism": 3}}}]}

    def create(world: OwnedPods) -> None:
        world.owner("jobset.x-k8s.io/v1alpha2", "JobSet/s", spec=single)

    stage = Stage(transport, client, Workload(create, (), of_job), gpus=8)
    stage.pod("z-0")
    assert stage.bound() == set()
    stage.pod("z-1", "Succeeded")
    stage.pod("z-2", "Succeeded")
    assert groups_of(stage.builder.snapshot(NOW)) == {"z-0 z-1 z-2": "1"}
    assert stage.bound() == {"z-0"}
