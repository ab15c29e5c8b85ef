"""A real API server: what `tenure capture` shows of it, and owners that are looked up there."""

import json
from pathlib import Path
from typing import Any

import pytest
from tenure.client.kubernetes.objects.meta import OwnerReference
from tenure.client.kubernetes.observe.owners import ApiOwners
from tenure.client.snapshot_file import read_snapshot

from tests.e2e.command import tenure
from tests.kube.cluster import Cluster, of
from tests.kube.controlplane import ControlPlane
from tests.kube.definitions import JOB_SET

pytestmark = pytest.mark.kube


def job_of_a_set(cluster: Cluster) -> dict[str, Any]:
    """A job that belongs to a job set of 2 jobs with 2 pods each."""
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2}}}]}
    body = {"metadata": {"name": "set", "labels": {"kai.scheduler/queue": "leaf"}}, "spec": spec}
    made = json.loads(cluster.transport.post(cluster.path(JOB_SET), of(JOB_SET, body)))
    return create_job(cluster, "set-w-0", owned_by(made))


def create_job(cluster: Cluster, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    body = {"metadata": {"name": name, "ownerReferences": owners}, "spec": {"template": template}}
    made = json.loads(cluster.transport.post(f"/apis/batch/v1/namespaces/{cluster.namespace}/jobs", body))
    return {**made, "apiVersion": "batch/v1", "kind": "Job"}


def owned_by(owner: dict[str, Any]) -> dict[str, Any]:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    named = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {**reference, **named, "controller": True}


def referring_to(owner: dict[str, Any]) -> OwnerReference:
    meta = owner["metadata"]
    return OwnerReference(owner["apiVersion"], owner["kind"], meta["name"], meta["uid"], controller=True)


def test_a_capture_shows_nodes_queues_pod_groups_and_pods(
    plane: ControlPlane, bare: Cluster, tmp_path: Path
) -> None:
    bare.node("n1", gpus=8)
    bare.priorities(low=10)
    bare.queue("top")
    bare.queue("leaf", parentQueue="top", preemptMinRuntime="1h")
    bare.workload("g", pods=1, gpus=1, queue="leaf")
    bare.pod("set-w-0-0", gpus=1, ownerReferences=[owned_by(job_of_a_set(bare))])

    output = str(tmp_path / "cluster.json")
    done = tenure("capture", output, "--kubeconfig", str(plane.kubeconfig()), "--cluster-id", "live")
    assert done.returncode == 0, done.stderr
    snapshot = read_snapshot(output)
    assert [(row.name, row.allocatable.gpu_milli) for row in snapshot.nodes] == [("n1", 8000)]
    assert {row.name: row.parent for row in snapshot.queues} == {"top": "", "leaf": "top"}
    groups = {row.name: (row.queue, row.min_member) for row in snapshot.pod_groups}
    assert groups == {"g": ("leaf", 1), "set": ("leaf", 4)}
    assert {row.name for row in snapshot.pods} == {"g-0", "set-w-0-0"}
    decided = tenure("decide", output, "--output", "json")
    assert decided.returncode == 0, decided.stderr


def test_owners_are_looked_up_to_the_top_and_one_that_is_gone_is_known_by_name(bare: Cluster) -> None:
    owners = ApiOwners(bare.transport)
    gone = OwnerReference("batch/v1", "Job", "gone", "uid-gone", controller=True)
    of_nobody = OwnerReference("example.com/v1", "Nothing", "x", "uid-x", controller=True)
    for reference in (gone, of_nobody):
        found = owners.top(bare.namespace, reference)
        assert found is not None
        assert (found.metadata.uid, found.metadata.name, found.gang) == (reference.uid, reference.name, 0)
    found = owners.top(bare.namespace, referring_to(create_job(bare, "made-after-the-first-list")))
    assert found is not None
    assert found.metadata.creation_timestamp is not None


def test_a_server_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    done = tenure("capture", str(tmp_path / "x.json"), "--kubeconfig", str(config))
    assert (done.returncode, "does not tell" in done.stderr) == (3, True)
    done = tenure("capture", str(tmp_path / "x.json"), "--kubeconfig", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
