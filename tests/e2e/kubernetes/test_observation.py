"""The output of `tenure capture` on a real API server, and the lookup of owners there."""

import json
from pathlib import Path
from typing import Any

import pytest
from tenure.client.snapshot_file import read_snapshot
from tenure.kubernetes.objects.meta import OwnerReference
from tenure.kubernetes.owners.lookup import ApiOwnerLookup

from tests.e2e.command import run_tenure
from tests.kubernetes.cluster import UserCluster, build_object
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import JOB_SET

pytestmark = pytest.mark.kube


def job_of_a_set(cluster: UserCluster) -> dict[str, Any]:
    """A job of a job set with 2 jobs of 2 pods each."""
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2}}}]}
    body = {"metadata": {"name": "set", "labels": {"kai.scheduler/queue": "leaf"}}, "spec": spec}
    made = json.loads(cluster.transport.post(cluster.path(JOB_SET), build_object(JOB_SET, body)))
    return create_job(cluster, "set-w-0", owned_by(made))


def create_job(cluster: UserCluster, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    body = {"metadata": {"name": name, "ownerReferences": owners}, "spec": {"template": template}}
    made = json.loads(cluster.transport.post(f"/apis/batch/v1/namespaces/{cluster.namespace}/jobs", body))
    return {**made, "apiVersion": "batch/v1", "kind": "Job"}


def owned_by(owner: dict[str, Any]) -> dict[str, Any]:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    named = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {**reference, **named, "controller": True}


def pods_referring_to(owner: dict[str, Any]) -> OwnerReference:
    meta = owner["metadata"]
    return OwnerReference(owner["apiVersion"], owner["kind"], meta["name"], meta["uid"], controller=True)


def test_capture_contains_nodes_queues_pod_groups_and_pods(
    plane: ControlPlane, namespace_only: UserCluster, tmp_path: Path
) -> None:
    namespace_only.node("n1", gpus=8)
    namespace_only.priorities(low=10)
    namespace_only.queue("top")
    namespace_only.queue("leaf", parentQueue="top", preemptMinRuntime="1h")
    namespace_only.workload("g", pods=1, gpus=1, queue="leaf")
    namespace_only.pod("set-w-0-0", gpus=1, ownerReferences=[owned_by(job_of_a_set(namespace_only))])

    output = str(tmp_path / "cluster.json")
    done = run_tenure("capture", output, "--kubeconfig", str(plane.kubeconfig()), "--cluster-id", "live")
    assert done.returncode == 0, done.stderr
    snapshot = read_snapshot(output)
    assert [(row.name, row.allocatable.gpu_milli) for row in snapshot.nodes] == [("n1", 8000)]
    assert {row.name: row.parent for row in snapshot.queues} == {"top": "", "leaf": "top"}
    groups = {row.name: (row.queue, row.min_member) for row in snapshot.pod_groups}
    assert groups == {"g": ("leaf", 1), "set": ("leaf", 4)}
    assert {row.name for row in snapshot.pods} == {"g-0", "set-w-0-0"}
    decided = run_tenure("decide", output, "--output", "json")
    assert decided.returncode == 0, decided.stderr


def test_owners_resolve_to_the_top_and_a_deleted_owner_resolves_by_name(
    namespace_only: UserCluster,
) -> None:
    owners = ApiOwnerLookup(namespace_only.transport)
    gone = OwnerReference("batch/v1", "Job", "gone", "uid-gone", controller=True)
    of_nobody = OwnerReference("example.com/v1", "Nothing", "x", "uid-x", controller=True)
    for reference in (gone, of_nobody):
        found = owners.top(namespace_only.namespace, reference)
        assert found is not None
        assert (found.metadata.uid, found.metadata.name, found.is_known) == (
            *(reference.uid, reference.name),
            False,
        )
    found = owners.top(
        namespace_only.namespace, pods_referring_to(create_job(namespace_only, "made-after-the-first-list"))
    )
    assert found is not None
    assert found.metadata.creation_timestamp is not None


def test_unreachable_api_server_is_reported(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    done = run_tenure("capture", str(tmp_path / "x.json"), "--kubeconfig", str(config))
    assert (done.returncode, "API server request failed" in done.stderr) == (3, True)
    done = run_tenure("capture", str(tmp_path / "x.json"), "--kubeconfig", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
