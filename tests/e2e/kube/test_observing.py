"""A real API server: what `tenure capture` shows of it, and owners that are looked up there."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.objects.meta import OwnerReference
from tenure.client.kubernetes.observe.owners import ApiOwners
from tenure.client.kubernetes.transport import Transport
from tenure.client.snapshot_file import read_snapshot

from tests.e2e.command import tenure
from tests.kube import binaries
from tests.kube.controlplane import ControlPlane, control_plane
from tests.kube.observe.live import NAMESPACE, define, in_namespace
from tests.kube.observe.world import member, node, pod, pod_group, queue

pytestmark = pytest.mark.kube

_APPEARS_SECONDS = 20


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_plane(binaries.required(), tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture(scope="module")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    opened = Transport(plane.kubeconfig())
    opened.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    define(opened, "scheduling.run.ai", "v2", "Queue", "queues", namespaced=False)
    define(opened, "scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", namespaced=True)
    define(opened, "jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", namespaced=True)
    yield opened
    opened.close()


def create(transport: Transport, collection: str, item: dict[str, Any]) -> dict[str, Any]:
    """Create an object; a kind that was just defined takes a moment to be served."""
    end = time.monotonic() + _APPEARS_SECONDS
    while True:
        try:
            made: dict[str, Any] = json.loads(transport.post(collection, item))
            return made
        except ApiFailure:
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


def job_of_a_set(transport: Transport) -> dict[str, Any]:
    """A job that belongs to a job set of 2 jobs with 2 pods each."""
    base = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets"
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2}}}]}
    labels = {"kai.scheduler/queue": "leaf"}
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "labels": labels},
        "spec": spec,
    }
    return create_job(transport, "set-w-0", owned_by(create(transport, base, body)))


def create_job(transport: Transport, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    body = {"metadata": {"name": name, "ownerReferences": owners}, "spec": {"template": template}}
    made = create(transport, f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", body)
    return {**made, "apiVersion": "batch/v1", "kind": "Job"}


def owned_by(owner: dict[str, Any]) -> dict[str, Any]:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    named = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {**reference, **named, "controller": True}


def referring_to(owner: dict[str, Any]) -> OwnerReference:
    meta = owner["metadata"]
    return OwnerReference(owner["apiVersion"], owner["kind"], meta["name"], meta["uid"], controller=True)


def test_a_capture_shows_nodes_queues_pod_groups_and_pods(
    plane: ControlPlane, transport: Transport, tmp_path: Path
) -> None:
    machine = create(transport, "/api/v1/nodes", {"metadata": {"name": "n1"}})
    status = {**machine, "status": node()["status"]}
    transport.put("/api/v1/nodes/n1/status", status)
    queues = "/apis/scheduling.run.ai/v2/queues"
    for item in (queue("top"), queue("leaf", parentQueue="top", preemptMinRuntime="1h")):
        create(transport, queues, {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", **item})
    group = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", **pod_group("g", queue="leaf")}
    create(transport, f"/apis/scheduling.run.ai/v2alpha2/namespaces/{NAMESPACE}/podgroups", group)
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    create(transport, pods, in_namespace(pod("grouped", meta=member("g"))))
    owned = {"ownerReferences": [owned_by(job_of_a_set(transport))]}
    create(transport, pods, in_namespace(pod("set-w-0-0", meta=owned)))

    output = str(tmp_path / "cluster.json")
    done = tenure("capture", output, "--kubeconfig", str(plane.kubeconfig()), "--cluster-id", "live")
    assert done.returncode == 0, done.stderr
    snapshot = read_snapshot(output)
    assert [(row.name, row.allocatable.gpu_milli) for row in snapshot.nodes] == [("n1", 8000)]
    assert {row.name: row.parent for row in snapshot.queues} == {"top": "", "leaf": "top"}
    groups = {row.name: (row.queue, row.min_member) for row in snapshot.pod_groups}
    assert groups == {"g": ("leaf", 1), "set": ("leaf", 4)}
    assert {row.name for row in snapshot.pods} == {"grouped", "set-w-0-0"}
    decided = tenure("decide", output, "--output", "json")
    assert decided.returncode == 0, decided.stderr


def test_owners_are_looked_up_to_the_top_and_one_that_is_gone_is_known_by_name(transport: Transport) -> None:
    owners = ApiOwners(transport)
    gone = OwnerReference("batch/v1", "Job", "gone", "uid-gone", controller=True)
    of_nobody = OwnerReference("example.com/v1", "Nothing", "x", "uid-x", controller=True)
    for reference in (gone, of_nobody):
        found = owners.top(NAMESPACE, reference)
        assert found is not None
        assert (found.metadata.uid, found.metadata.name, found.gang) == (reference.uid, reference.name, 0)
    found = owners.top(NAMESPACE, referring_to(create_job(transport, "made-after-the-first-list")))
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
