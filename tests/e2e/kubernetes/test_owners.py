"""Preemptibility, priority class and queue where people write them, with the real controllers of owners."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tenure.client.snapshot_file import read_snapshot
from tenure.kubernetes.api.transport import MERGE_PATCH
from tenure.kubernetes.owners import owner_lists
from tenure.v1 import snapshot_pb2 as pb

from tests.e2e.command import run_tenure
from tests.e2e.kubernetes.conftest import Adapter
from tests.kubernetes.adapter.adapter_stage import Stage
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.owner_objects import OwnerCluster

pytestmark = pytest.mark.kube

KEY: Final = "kai.scheduler/preemptibility"
EXAMPLE: Final = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: external-workload
  annotations:
    kai.scheduler/preemptibility: "Non-Preemptible"
  labels:
    runai/priority-class: "train"
"""
"""The proposal's example of an external workload, without its spec."""


def template(gpus: int = 0, **meta: Any) -> dict[str, Any]:
    """A pod template of this scheduler, with the label app=a."""
    amounts = {"cpu": "1", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    metadata = {**meta, "labels": {"app": "a", **meta.get("labels", {})}}
    return {"metadata": metadata, "spec": {"schedulerName": "kai-scheduler", "containers": [container]}}


def workload(kind: str, name: str, of_pods: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A workload with one pod. `meta` is added to its metadata."""
    head = {"kind": kind, "metadata": {"name": name, **meta}}
    if kind in ("Job", "CronJob"):
        of_pods["spec"]["restartPolicy"] = "Never"
        spec = {"template": of_pods}
        if kind == "Job":
            return {"apiVersion": "batch/v1", **head, "spec": spec}
        jobs = {"metadata": {}, "spec": spec}
        return {
            "apiVersion": "batch/v1",
            **head,
            "spec": {"schedule": "0 0 1 1 *", "jobTemplate": jobs},
        }
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": of_pods, "replicas": 1}
    return {"apiVersion": "apps/v1", **head, "spec": spec}


def captured(plane: ControlPlane, folder: Path) -> list[pb.PodGroup]:
    """The pod groups in the output of `tenure capture`."""
    file = folder / "cluster.binpb"
    done = run_tenure("capture", str(file), "--kubeconfig", str(plane.kubeconfig()))
    assert done.returncode == 0, done.stderr
    return list(read_snapshot(str(file)).pod_groups)


def test_the_external_workload_of_the_proposal_runs_to_completion(
    owners: OwnerCluster, adapter: Adapter
) -> None:
    """Its neighbour of the same class, without the annotation, makes way."""
    cluster = owners.cluster
    cluster.queue("default-queue")
    cluster.priorities(train=50, inference=125)
    example = yaml.safe_load(EXAMPLE)
    example["spec"] = workload("Deployment", "x", template(gpus=4))["spec"]
    labels = {"runai/priority-class": "train"}
    other = template(gpus=4, labels={"app": "b"})
    neighbour = workload("Deployment", "neighbour", other, labels=labels)
    neighbour["spec"]["selector"] = {"matchLabels": {"app": "b"}}
    with adapter():
        owners.apply(example)
        owners.apply(neighbour)
        wait_until(lambda: cluster.running("external-workload") == 1)
        wait_until(lambda: cluster.running("neighbour") == 1)
        (pod,) = cluster.pods("external-workload")
        terms = {"priority": "inference", "queue": "default-queue"}
        cluster.workload("first", pods=1, gpus=4, **terms)  # type: ignore[arg-type]
        wait_until(lambda: cluster.running("first") == 1)
        cluster.workload("second", pods=1, gpus=4, preemptibility="non-preemptible", **terms)  # type: ignore[arg-type]
        wait_until(lambda: cluster.running("second") == 1 or cluster.reasons_of("second"))
        assert list(cluster.pods("external-workload")) == [pod]
        assert cluster.running("external-workload") == 1
        assert [name for name in cluster.events("Evicted") if name.startswith("external")] == []
        wait_until(lambda: any(name.startswith("neighbour") for name in cluster.events("Evicted")))


def test_value_that_is_changed_on_an_owner_counts_without_a_restart(
    owners: OwnerCluster, plane: ControlPlane, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`new` waits for a Deployment until its annotation says that it may be evicted."""
    monkeypatch.setattr(owner_lists, "REFRESH_SECONDS", 1.0)
    cluster = owners.cluster
    cluster.queue("default-queue")
    cluster.priorities(train=50, inference=125)
    labels = {"runai/priority-class": "train"}
    owners.apply(
        workload("Deployment", "web", template(gpus=8), labels=labels, annotations={KEY: "Non-Preemptible"})
    )
    settings = dict.fromkeys(("clusterId", "namespace"), cluster.namespace)
    with Stage(plane, cluster, server, settings).adapter():
        wait_until(lambda: cluster.running("web") == 1)
        cluster.workload("new", pods=1, gpus=8, priority="inference", queue="default-queue")
        wait_until(lambda: cluster.reasons_of("new"))
        assert cluster.events("Evicted") == []
        path = f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments/web"
        changed = {"metadata": {"annotations": {KEY: "Preemptible"}}}
        cluster.transport.patch(path, changed, MERGE_PATCH)
        wait_until(lambda: cluster.running("new") == 1)


LABELS: Final = {KEY: "non-preemptible", "kai.scheduler/queue": "mine", "priorityClassName": "build"}
ANNOTATIONS: Final = {KEY: "Non-Preemptible", "kai.scheduler/queue": "mine", "runai/priority-class": "build"}
KINDS: Final = ("Deployment", "StatefulSet", "Job", "CronJob", "ReplicaSet")


@pytest.mark.parametrize("kind", KINDS)
def test_values_count_on_the_owner_and_in_its_pod_template(
    owners: OwnerCluster, plane: ControlPlane, tmp_path: Path, kind: str
) -> None:
    owners.cluster.priorities(build=100, train=50, inference=125)
    ways = {
        "owner-labels": ({"labels": LABELS}, {}),
        "owner-annotations": ({"annotations": ANNOTATIONS}, {}),
        "pod-labels": ({}, {"labels": LABELS}),
        "pod-annotations": ({}, {"annotations": ANNOTATIONS}),
    }
    for name, (of_owner, of_pods) in ways.items():
        made = workload(kind, name, template(**of_pods), **of_owner)
        if kind not in ("Job", "CronJob"):
            made["spec"]["template"]["metadata"]["labels"]["app"] = name
            made["spec"]["selector"]["matchLabels"]["app"] = name
        owners.apply(made)
    for name in ways:
        owners.pods(name)
    found = {
        next((way for way in ways if row.name.startswith(way)), row.name): (
            row.annotations[KEY].lower(),
            row.queue,
            row.priority,
        )
        for row in captured(plane, tmp_path)
    }
    assert found == dict.fromkeys(ways, ("non-preemptible", "mine", 100))
