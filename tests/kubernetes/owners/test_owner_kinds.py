"""Each kind of owners gives the pod groups that its users expect, without a PodGroup object."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.owners.kinds import built_in_kinds

from tests.kubernetes.observe.cached_cluster import NOW
from tests.kubernetes.owners.owner_chains import OwnedPods, groups_of

KUBEFLOW: Final = "training.kubeflow.org/replica-type"
LWS: Final = "leaderworkerset.sigs.k8s.io"


class Case(NamedTuple):
    """A kind with its pods, as its controllers write them."""

    write: Callable[[OwnedPods], None]
    expected: dict[str, str]
    """Terms of pod groups by the names of their pods."""


def replicas(kind: str, field: str, **more: Any) -> Callable[[OwnedPods], None]:
    """A job of Kubeflow with two roles."""
    version = "kubeflow.org/v1"

    def write(world: OwnedPods) -> None:
        roles = {"Chief": {"replicas": 1}, "Worker": {"replicas": 3}}
        world.owner(version, f"{kind}/t", spec={field: roles, **more})
        for name in ("chief-0", "worker-0", "worker-1", "worker-2"):
            world.pod(name, f"{kind}/t", labels={KUBEFLOW: name.partition("-")[0]})

    return write


def pytorch(world: OwnedPods) -> None:
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}
    world.owner("kubeflow.org/v1", "PyTorchJob/t", spec={"pytorchReplicaSpecs": roles})
    for name in ("master-0", "worker-0", "worker-1"):
        world.pod(name, "PyTorchJob/t", labels={KUBEFLOW: name.partition("-")[0]})


def elastic(world: OwnedPods) -> None:
    roles = {"Worker": {"replicas": 4}}
    world.owner(
        "kubeflow.org/v1",
        "PyTorchJob/t",
        spec={"pytorchReplicaSpecs": roles, "elasticPolicy": {"minReplicas": 2, "maxReplicas": 8}},
    )
    world.pod("worker-0", "PyTorchJob/t", labels={KUBEFLOW: "worker"})


def mpi(**more: Any) -> Callable[[OwnedPods], None]:
    def write(world: OwnedPods) -> None:
        roles = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
        world.owner("kubeflow.org/v2beta1", "MPIJob/m", spec={"mpiReplicaSpecs": roles, **more})
        for name in ("worker-0", "worker-1"):
            world.pod(name, "MPIJob/m", labels={"training.kubeflow.org/job-role": "worker"})
        if not more:
            world.owner("batch/v1", "Job/m-launcher", "MPIJob/m", spec={})
            world.pod("launcher-x", "Job/m-launcher", labels={"training.kubeflow.org/job-role": "launcher"})

    return write


def serving(world: OwnedPods) -> None:
    world.owner("apps/v1", "Deployment/web")
    world.owner("apps/v1", "ReplicaSet/web-1", "Deployment/web")
    for name in "ab":
        world.pod(name, "ReplicaSet/web-1")


def alone(version: str, kind: str, above: tuple[str, str] | None = None) -> Callable[[OwnedPods], None]:
    """Two pods of a kind."""

    def write(world: OwnedPods) -> None:
        if above:
            world.owner(above[0], f"{above[1]}/top")
        world.owner(version, f"{kind}/o", f"{above[1]}/top" if above else "")
        for name in "ab":
            world.pod(name, f"{kind}/o")

    return write


def job(metadata: dict[str, Any] | None = None, **spec: Any) -> Callable[[OwnedPods], None]:
    def write(world: OwnedPods) -> None:
        world.owner(
            "batch/v1", "Job/j", spec={"parallelism": 4, "completions": 4, **spec}, **(metadata or {})
        )
        for name in "ab":
            world.pod(name, "Job/j")

    return write


def cron_job(world: OwnedPods) -> None:
    world.owner("batch/v1", "CronJob/nightly")
    for number in "12":
        world.owner("batch/v1", f"Job/nightly-{number}", "CronJob/nightly", spec={})
        world.pod(f"{number}-a", f"Job/nightly-{number}")
        world.pod(f"{number}-b", f"Job/nightly-{number}")


def job_set(above: str = "", **spec: Any) -> Callable[[OwnedPods], None]:
    def write(world: OwnedPods) -> None:
        if above:
            world.owner("trainer.kubeflow.org/v1alpha1", above)
        parallel = {"spec": {"parallelism": 3, "completions": 2}}
        jobs = [
            {"name": "driver", "template": {"spec": {}}},
            {"name": "workers", "replicas": 2, "template": parallel},
        ]
        top = "JobSet/s"
        world.owner("jobset.x-k8s.io/v1alpha2", top, above, spec={"replicatedJobs": jobs, **spec})
        for made in ("driver-0",) if "startupPolicy" in spec else ("driver-0", "workers-0", "workers-1"):
            world.owner("batch/v1", f"Job/s-{made}", top, spec={})
            role = {"jobset.sigs.k8s.io/replicatedjob-name": made.partition("-")[0]}
            world.pod(f"{made}-0", f"Job/s-{made}", labels=role)

    return write


def leader_workers(world: OwnedPods, policy: str = "LeaderCreated", replica: int = 0) -> None:
    """A replica: a leader, and workers whose stateful set the leader owns."""
    name = "LeaderWorkerSet/l"
    if replica == 0:
        spec = {"startupPolicy": policy, "leaderWorkerTemplate": {"size": 3}}
        world.owner("leaderworkerset.x-k8s.io/v1", name, spec=spec)
        world.owner("apps/v1", "StatefulSet/l", name)
    leader = f"l-{replica}"
    for number in range(3 if policy == "LeaderCreated" else 1):
        meta = {
            "labels": {f"{LWS}/group-key": f"key-{replica}", f"{LWS}/worker-index": str(number)},
            "annotations": {f"{LWS}/size": "3"},
        }
        if number == 0:
            world.pod(leader, "StatefulSet/l", **meta)
            world.owner("apps/v1", f"StatefulSet/{leader}", f"Pod/{leader}")
        else:
            world.pod(f"{leader}-{number}", f"StatefulSet/{leader}", **meta)


def two_replicas(world: OwnedPods) -> None:
    for number in range(2):
        leader_workers(world, replica=number)


def ray(by: str = "", **spec: Any) -> Callable[[OwnedPods], None]:
    def write(world: OwnedPods) -> None:
        if by:
            world.owner("ray.io/v1", by)
        workers = [
            {"groupName": "small", "replicas": 4, "minReplicas": 2, "numOfHosts": 2},
            {"groupName": "big", "replicas": 1, "minReplicas": 0},
            {"groupName": "paused", "replicas": 3, "suspend": True},
        ]
        world.owner(
            "ray.io/v1", "RayCluster/r", by, spec={"headGroupSpec": {}, "workerGroupSpecs": workers, **spec}
        )
        world.pod("head", "RayCluster/r", labels={"ray.io/node-type": "head", "ray.io/group": "headgroup"})
        world.pod("small-0", "RayCluster/r", labels={"ray.io/node-type": "worker", "ray.io/group": "small"})
        if by.startswith("RayJob"):
            world.owner("batch/v1", "Job/submit", by, spec={})
            world.pod("submitter", "Job/submit")

    return write


def spark(by: str = "") -> Callable[[OwnedPods], None]:
    def write(world: OwnedPods) -> None:
        if by:
            world.owner("sparkoperator.k8s.io/v1beta2", by, spec={"executor": {"instances": 5}})
        selector = {"spark-app-selector": "spark-1"}
        world.pod("driver", by, labels={**selector, "spark-role": "driver"})
        for name in ("exec-1", "exec-2"):
            world.pod(name, "Pod/driver", labels={**selector, "spark-role": "executor"})

    return write


def knative(world: OwnedPods) -> None:
    world.owner("serving.knative.dev/v1", "Service/k")
    world.owner("serving.knative.dev/v1", "Configuration/k", "Service/k")
    world.owner("serving.knative.dev/v1", "Revision/k-1", "Configuration/k")
    world.owner("apps/v1", "Deployment/k-1-deployment", "Revision/k-1")
    world.owner("apps/v1", "ReplicaSet/k-1-deployment-1", "Deployment/k-1-deployment")
    for name in "ab":
        world.pod(name, "ReplicaSet/k-1-deployment-1")


def workflow(world: OwnedPods) -> None:
    """A step that is a pod, and one that trains."""
    world.owner("argoproj.io/v1alpha1", "CronWorkflow/nightly")
    world.owner("argoproj.io/v1alpha1", "Workflow/w", "CronWorkflow/nightly")
    world.pod("prepare", "Workflow/w")
    world.pod("check", "Workflow/w")
    world.owner(
        "kubeflow.org/v1",
        "PyTorchJob/t",
        "Workflow/w",
        spec={"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}},
    )
    for name in ("worker-0", "worker-1"):
        world.pod(name, "PyTorchJob/t", labels={KUBEFLOW: "worker"})


def tekton(world: OwnedPods) -> None:
    world.owner("tekton.dev/v1", "PipelineRun/p")
    for name in ("build", "test"):
        world.owner("tekton.dev/v1", f"TaskRun/{name}", "PipelineRun/p")
        world.pod(name, f"TaskRun/{name}")


EACH: Final = {"a": "1", "b": "1"}
TOGETHER: Final = {"a b": "1"}
ROLES: Final = {"chief-0 worker-0 worker-1 worker-2": "chief 1 + worker 3"}
INDEXED: Final = {"completionMode": "Indexed"}
CASES: Final[dict[str, Case]] = {
    "Deployment": Case(serving, EACH),
    "ReplicaSet": Case(alone("apps/v1", "ReplicaSet"), EACH),
    "StatefulSet": Case(alone("apps/v1", "StatefulSet"), EACH),
    "DaemonSet": Case(alone("apps/v1", "DaemonSet"), EACH),
    "ReplicationController": Case(alone("v1", "ReplicationController"), EACH),
    "Job": Case(job(), TOGETHER),
    "Job, indexed": Case(job(**INDEXED), TOGETHER),
    "Job, indexed, with a subdomain": Case(
        job(**INDEXED, template={"spec": {"subdomain": "ring"}}), {"a b": "4"}
    ),
    "Job with a minimum": Case(job({"annotations": {"kai.scheduler/batch-min-member": "2"}}), {"a b": "2"}),
    "CronJob": Case(cron_job, {"1-a 1-b": "1", "2-a 2-b": "1"}),
    "JobSet": Case(job_set(), {"driver-0-0 workers-0-0 workers-1-0": "driver 1 + workers 4"}),
    "JobSet in order": Case(
        job_set(startupPolicy={"startupPolicyOrder": "InOrder"}),
        {"driver-0-0": "2 of driver 1 + workers 0"},
    ),
    "TrainJob": Case(job_set("TrainJob/t"), {"driver-0-0 workers-0-0 workers-1-0": "driver 1 + workers 4"}),
    "LeaderWorkerSet": Case(
        two_replicas, {"l-0 l-0-1 l-0-2": "leader 1 + worker 2", "l-1 l-1-1 l-1-2": "leader 1 + worker 2"}
    ),
    "LeaderWorkerSet, leader first": Case(
        lambda world: leader_workers(world, "LeaderReady"), {"l-0": "2 of leader 1 + worker 0"}
    ),
    "PyTorchJob": Case(pytorch, {"master-0 worker-0 worker-1": "master 1 + worker 2"}),
    "PyTorchJob, elastic": Case(elastic, {"worker-0": "2"}),
    "TFJob": Case(replicas("TFJob", "tfReplicaSpecs"), ROLES),
    "TFJob with a minimum": Case(
        replicas("TFJob", "tfReplicaSpecs", runPolicy={"schedulingPolicy": {"minAvailable": 3}}),
        dict.fromkeys(ROLES, "3"),
    ),
    "XGBoostJob": Case(replicas("XGBoostJob", "xgbReplicaSpecs"), ROLES),
    "JAXJob": Case(replicas("JAXJob", "jaxReplicaSpecs"), ROLES),
    "PaddleJob": Case(replicas("PaddleJob", "paddleReplicaSpecs"), ROLES),
    "MPIJob": Case(mpi(), {"launcher-x worker-0 worker-1": "launcher 1 + worker 2"}),
    "MPIJob, workers first": Case(
        mpi(launcherCreationPolicy="WaitForWorkersReady"), {"worker-0 worker-1": "2 of launcher 0 + worker 2"}
    ),
    "RayCluster": Case(ray(), {"head small-0": "headgroup 1 + small 4 + big 1"}),
    "RayCluster with its autoscaler": Case(
        ray(enableInTreeAutoscaling=True), {"head small-0": "headgroup 1 + small 4 + big 0"}
    ),
    "RayJob": Case(ray("RayJob/j"), {"head small-0": "headgroup 1 + small 4 + big 1", "submitter": "1"}),
    "RayService": Case(ray("RayService/s"), {"head small-0": "headgroup 1 + small 4 + big 1"}),
    "SparkApplication": Case(spark("SparkApplication/s"), {"driver exec-1 exec-2": "driver 1 + executor 0"}),
    "Spark without an operator": Case(spark(), {"driver exec-1 exec-2": "driver 1 + executor 0"}),
    "Service of Knative": Case(knative, EACH),
    "Workflow": Case(workflow, {"prepare": "1", "check": "1", "worker-0 worker-1": "2"}),
    "PipelineRun": Case(tekton, {"build": "1", "test": "1"}),
    "TaskRun": Case(tekton, {"build": "1", "test": "1"}),
    "unknown kind": Case(alone("example.com/v1", "Thing"), TOGETHER),
    "unknown kind above a known one": Case(
        alone("apps/v1", "StatefulSet", ("example.com/v1", "Thing")), EACH
    ),
    "unknown kind below an unknown one": Case(
        alone("example.com/v1", "Thing", ("example.com/v1", "Operator")), TOGETHER
    ),
    "Notebook": Case(alone("apps/v1", "StatefulSet", ("kubeflow.org/v1beta1", "Notebook")), EACH),
    "DevWorkspace": Case(
        alone("apps/v1", "Deployment", ("workspace.devfile.io/v1alpha2", "DevWorkspace")), EACH
    ),
    "VirtualMachineInstance": Case(alone("kubevirt.io/v1", "VirtualMachineInstance"), TOGETHER),
    "RunaiJob": Case(alone("run.ai/v1", "RunaiJob"), TOGETHER),
    "AmlJob": Case(alone("amlarc.azureml.com/v1alpha1", "AmlJob"), TOGETHER),
    "SPOTRequest": Case(alone("egx.nvidia.io/v1", "SPOTRequest"), TOGETHER),
    "WorkloadRunner": Case(alone("batch/v1", "Job", ("run.ai/v2", "WorkloadRunner")), TOGETHER),
    "SeldonDeployment": Case(
        alone("apps/v1", "Deployment", ("machinelearning.seldon.io/v1", "SeldonDeployment")), EACH
    ),
    "RayCronJob": Case(ray("RayCronJob/c"), {"head small-0": "headgroup 1 + small 4 + big 1"}),
}


@pytest.mark.parametrize("case", CASES)
def test_kind_gives_the_pod_groups_that_its_users_expect(transport: Transport, case: str) -> None:
    world = OwnedPods(transport)
    CASES[case].write(world)
    builder = world.builder()
    assert groups_of(builder.snapshot(NOW)) == CASES[case].expected
    assert builder.warnings.active == []


def test_every_kind_that_groups_has_a_case() -> None:
    named = {name.partition(",")[0].partition(" ")[0] for name in CASES}
    grouping = {kind for (_, kind), row in built_in_kinds().by_name.items() if row.pod_group != "below"}
    assert grouping - named == {"Node"}
