"""What users write on an API server, what the adapter makes of it, and what it writes back.

The API server is the fake one of the adapter's own tests, which `tests/kubernetes/api_semantics` compares
with a real one. `tests/e2e/kubernetes/test_requirements.py` runs the same tests on a real one. Decisions come
from a real server of Tenure.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from tests.cli.command import Tenure
from tests.kubernetes.adapter.adapter_stage import Stage, open_stage
from tests.kubernetes.cluster import UserCluster, build_object, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP
from tests.server.servers import run_server

KEY: Final = "kai.scheduler/preemptibility"
CLASSES: Final = {"train": 50, "build": 100, "urgent": 1_000}
START: Final = "kai.scheduler/last-start-timestamp"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


@pytest.fixture
def stage(tmp_path: Path, server: str) -> Iterator[Stage]:
    with open_stage(tmp_path, server, tmp_path.name) as made:
        made.cluster.priorities(**CLASSES)
        yield made


def decisions(stage: Stage, kind: str) -> list[str]:
    """Pods that the adapter would evict or bind."""
    return sorted(step["pod"] for step in stage.dry_run_output() if step["kind"] == kind)


def ago(**span: int) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat(timespec="seconds")


QUEUE: Final = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata:
  name: production
spec:
  preemptMinRuntime: "20s"
  reclaimMinRuntime: "30s"
"""
"""The example of the documentation."""


def test_queue_of_the_example_protects_for_20_and_30_seconds(stage: Stage) -> None:
    """Two pods of the queue: one ran for less than both minimums, the other for more."""
    cluster = stage.cluster
    cluster.queue("production", 0, **yaml.safe_load(QUEUE)["spec"])
    cluster.workload("young", 1, 4, queue="production", annotations={START: ago(seconds=1)})
    cluster.workload("aged", 1, 4, queue="production", annotations={START: ago(hours=1)})
    stage.start("young-0", "aged-0")
    cluster.workload("new", 1, 4, queue="q", priority="urgent")
    cluster.workload("newer", 1, 4, queue="q", priority="urgent")
    assert decisions(stage, "evict") == ["aged-0"]
    for waiting in ("new", "newer"):
        cluster.transport.delete(f"{cluster.pods_path}/{waiting}-0", {"gracePeriodSeconds": 0})
    cluster.workload("own", 2, 4, queue="production", priority="urgent", minMember=1)
    assert decisions(stage, "evict") == ["aged-0"]


def test_between_20_and_30_seconds_its_own_queue_may_evict_and_others_may_not(stage: Stage) -> None:
    """Each field has its own value: reading one of them for both fails one half."""
    cluster = stage.cluster
    cluster.queue("production", 0, **yaml.safe_load(QUEUE)["spec"])
    cluster.workload("between", 1, 8, queue="production", annotations={START: ago(seconds=21)})
    stage.start("between-0")
    cluster.workload("new", 1, 8, queue="q", priority="urgent")
    assert decisions(stage, "evict") == []
    cluster.transport.delete(f"{cluster.pods_path}/new-0", {"gracePeriodSeconds": 0})
    cluster.workload("own", 1, 8, queue="production", priority="urgent")
    assert decisions(stage, "evict") == ["between-0"]


def test_start_is_a_readable_annotation_and_the_outcome_a_condition(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.workload("fits", 1, 8)
    began = datetime.now(UTC) - timedelta(seconds=2)
    with stage.adapter():
        started = cluster.wait_for_annotations("fits", "last-start-timestamp")["last-start-timestamp"]
        cluster.workload("waits", 1, 8)
        wait_until(lambda: cluster.reasons_of("waits"))
    assert began <= datetime.fromisoformat(started) <= datetime.now(UTC)
    assert "last-start-timestamp" not in cluster.annotations_of("waits")


class Written(NamedTuple):
    """A pod group or a pod as a user writes it, and whether it may be evicted."""

    kind: str
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    yields: bool


def annotated(value: str) -> dict[str, Any]:
    return {"annotations": {KEY: value}}


def labelled(value: str) -> dict[str, Any]:
    return {"labels": {KEY: value}}


TRAIN: Final = {"priorityClassName": "train"}
BUILD: Final = {"priorityClassName": "build"}
WRITTEN: Final = {
    "kai-field": Written("kai", {}, {**BUILD, "preemptibility": "preemptible"}, True),
    "kai-field-firm": Written("kai", {}, {**TRAIN, "preemptibility": "non-preemptible"}, False),
    "kai-nothing": Written("kai", {}, BUILD, False),
    "volcano-annotation": Written("volcano", annotated("Preemptible"), BUILD, True),
    "volcano-annotation-firm": Written("volcano", annotated("Non-Preemptible"), TRAIN, False),
    "pod-annotation": Written("pod", annotated("Preemptible"), BUILD, True),
    "pod-label-firm": Written("pod", labelled("Non-Preemptible"), TRAIN, False),
    "pod-nothing": Written("pod", {}, TRAIN, True),
}
"""One pod each of one GPU: they fill the node."""


def create(cluster: UserCluster, name: str, written: Written) -> None:
    """Create the object, and its pod where it is none itself."""
    metadata = {"name": name, **written.metadata}
    if written.kind == "pod":
        labels = {"kai.scheduler/queue": "q", **written.metadata.get("labels", {})}
        spec = {"priorityClassName": written.spec["priorityClassName"]}
        pod(cluster, f"{name}-0", spec, **{**written.metadata, "labels": labels})
        return
    kind = KAI_POD_GROUP if written.kind == "kai" else VOLCANO_POD_GROUP
    body = {"metadata": metadata, "spec": {"queue": "q", "minMember": 1, **written.spec}}
    cluster.transport.post(cluster.path(kind), build_object(kind, body))
    key = "pod-group-name" if written.kind == "kai" else "scheduling.k8s.io/group-name"
    cluster.pod(f"{name}-0", 1, annotations={key: name})


def pod(cluster: UserCluster, name: str, spec: Mapping[str, Any], **meta: Any) -> None:
    """Create a pod of one GPU that names no pod group."""
    amounts = {"cpu": "1", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    body = {"metadata": meta | {"name": name}, "spec": {"schedulerName": "kai-scheduler", **spec}}
    body["spec"]["containers"] = [container]
    cluster.transport.post(cluster.pods_path, body)


def test_preemptibility_counts_where_users_write_it(stage: Stage) -> None:
    """Classes say the opposite of what is written: a value that is not read would change the victims."""
    cluster = stage.cluster
    for name, written in WRITTEN.items():
        create(cluster, name, written)
    stage.start(*(f"{name}-0" for name in WRITTEN))
    yielding = sorted(f"{name}-0" for name, written in WRITTEN.items() if written.yields)
    cluster.workload("new", 1, len(yielding), priority="urgent")
    assert decisions(stage, "evict") == yielding
    cluster.transport.delete(f"{cluster.pods_path}/new-0", {"gracePeriodSeconds": 0})
    cluster.workload("larger", 1, len(yielding) + 1, priority="urgent")
    assert decisions(stage, "evict") == []


MANIFESTS: Final = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: kai-CLASS}
spec:
  priorityClassName: CLASS
  queue: q
  minMember: 1
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: volcano-CLASS}
spec:
  priorityClassName: CLASS
  queue: q
  minMember: 1
---
apiVersion: batch/v1
kind: Job
metadata:
  name: job-CLASS
  labels: {kai.scheduler/queue: q}
spec:
  template:
    spec:
      restartPolicy: Never
      priorityClassName: CLASS
      containers: [{name: main, image: none}]
---
apiVersion: v1
kind: Pod
metadata:
  name: pod-CLASS-0
  labels: {kai.scheduler/queue: q}
spec:
  schedulerName: kai-scheduler
  priorityClassName: CLASS
  containers:
  - name: main
    image: none
    resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}
"""
"""One object of every kind that has a place of its own for the value."""
NAMES: Final = ("kai", "volcano", "job", "pod")


def apply(cluster: UserCluster, documents: list[dict[str, Any]]) -> None:
    """Create the objects, and a pod of one GPU for each that is none."""
    for document in documents:
        name = document["metadata"]["name"]
        if document["kind"] == "Pod":
            cluster.transport.post(cluster.pods_path, document)
        elif document["kind"] == "Job":
            made = json.loads(
                cluster.transport.post(f"/apis/batch/v1/namespaces/{cluster.namespace}/jobs", document)
            )
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": made["metadata"]["uid"]}
            template = document["spec"]["template"]
            spec = {"priorityClassName": template["spec"]["priorityClassName"]}
            meta = {"ownerReferences": [{**owner, "controller": True}], **template.get("metadata", {})}
            pod(cluster, f"{name}-0", spec, **meta)
        else:
            kind = KAI_POD_GROUP if "run.ai" in document["apiVersion"] else VOLCANO_POD_GROUP
            cluster.transport.post(cluster.path(kind), document)
            key = "pod-group-name" if kind is KAI_POD_GROUP else "scheduling.k8s.io/group-name"
            cluster.pod(f"{name}-0", 1, annotations={key: name})


SWAPPED: Final = {"train": "build", "build": "train"}


@pytest.mark.parametrize("migrated", [False, True], ids=["before", "after, with the classes swapped"])
def test_migration_keeps_every_decision(migrated: bool, stage: Stage, tenure: Tenure, tmp_path: Path) -> None:
    """Migrate, apply, observe: what `tenure migrate` writes is what the adapter reads.

    Without migration the classes decide. Afterwards each object has the class of the other meaning, so that
    only the written value can have the same effect.
    """
    folder = tmp_path / "manifests"
    folder.mkdir()
    for name in SWAPPED:
        (folder / f"{name}.yaml").write_text(MANIFESTS.replace("CLASS", name))
    if migrated:
        ended = tenure("migrate", str(folder))
        assert (ended.code, "8 objects changed" in ended.out) == (0, True)
        for name, other in SWAPPED.items():
            text = (folder / f"{name}.yaml").read_text()
            swapped = text.replace(f"priorityClassName: {name}", f"priorityClassName: {other}")
            assert swapped.count(other) == 4
            (folder / f"{name}.yaml").write_text(swapped)
    for name in SWAPPED:
        apply(stage.cluster, list(yaml.safe_load_all((folder / f"{name}.yaml").read_text())))
    stage.start(*(f"{kind}-{name}-0" for kind in NAMES for name in SWAPPED))
    stage.cluster.workload("new", 1, 4, priority="urgent")
    assert decisions(stage, "evict") == sorted(f"{kind}-train-0" for kind in NAMES)
