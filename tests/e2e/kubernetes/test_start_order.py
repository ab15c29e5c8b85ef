"""Workloads that start in an order, on a real API server: each step starts when its pods exist.

The test plays their controllers: it creates the next pods only after the earlier ones run.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import JOB_SET, CustomKind, define_kinds

pytestmark = pytest.mark.kube

LWS: Final = "leaderworkerset.sigs.k8s.io"
LEADER_WORKER_SET: Final = CustomKind(
    "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", True, True
)
MPI_JOB: Final = CustomKind("kubeflow.org", "v2beta1", "MPIJob", "mpijobs", True, True)
JOBS: Final = [{"name": name, "template": {"spec": {"parallelism": 2}}} for name in ("z", "a")]
ROLES: Final = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}


class Case(NamedTuple):
    """A workload that starts in two steps."""

    kind: CustomKind
    spec: dict[str, Any]
    first: dict[str, dict[str, Any]]
    """Labels and annotations of the first pods, by name."""
    second: dict[str, dict[str, Any]]


def of_replica(number: int) -> dict[str, Any]:
    labels = {f"{LWS}/group-key": "key", f"{LWS}/worker-index": str(number)}
    return {"labels": labels, "annotations": {f"{LWS}/size": "3"}}


def labelled(key: str, role: str) -> dict[str, Any]:
    return {"labels": {key: role}}


_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_ROLE: Final = "training.kubeflow.org/job-role"
CASES: Final = {
    "LeaderReady": Case(
        LEADER_WORKER_SET,
        {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 3}},
        {"w-0": of_replica(0)},
        {"w-1": of_replica(1), "w-2": of_replica(2)},
    ),
    "InOrder": Case(
        JOB_SET,
        {"replicatedJobs": JOBS, "startupPolicy": {"startupPolicyOrder": "InOrder"}},
        {f"w-z-{number}": labelled(_JOB, "z") for number in range(2)},
        {f"w-a-{number}": labelled(_JOB, "a") for number in range(2)},
    ),
    "WaitForWorkersReady": Case(
        MPI_JOB,
        {"mpiReplicaSpecs": ROLES, "launcherCreationPolicy": "WaitForWorkersReady"},
        {f"w-{number}": labelled(_ROLE, "worker") for number in range(2)},
        {"w-launcher": labelled(_ROLE, "launcher")},
    ),
}


@pytest.fixture(scope="module")
def kinds(transport: Transport) -> Iterator[None]:
    """The kinds that other tests do not need, for the tests of this module."""
    defined = (LEADER_WORKER_SET, MPI_JOB)
    define_kinds(transport, defined)
    yield
    for kind in defined:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        transport.delete(f"{path}/{kind.plural}.{kind.group}", {})


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("name", CASES)
def test_workload_that_starts_in_an_order_does_not_deadlock(
    cluster: UserCluster, adapter: Adapter, name: str
) -> None:
    case = CASES[name]
    cluster.queue("default-queue")
    path = f"/apis/{case.kind.api_version}/namespaces/{cluster.namespace}/{case.kind.plural}"
    head = {"apiVersion": case.kind.api_version, "kind": case.kind.name}
    made = json.loads(cluster.transport.post(path, {**head, "metadata": {"name": "w"}, "spec": case.spec}))
    owner = {**head, "name": "w", "uid": made["metadata"]["uid"], "controller": True}
    with adapter():
        for pod, meta in case.first.items():
            cluster.pod(pod, gpus=1, ownerReferences=[owner], **meta)
        wait_until(lambda: cluster.running("w") == len(case.first))
        for pod, meta in case.second.items():
            cluster.pod(pod, gpus=1, ownerReferences=[owner], **meta)
        wait_until(lambda: cluster.running("w") == len(case.first) + len(case.second))
        assert cluster.events("Evicted") == []
    cluster.transport.delete(f"{path}/w", {})
