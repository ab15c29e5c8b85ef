"""What `tenure migrate` writes is what the adapter reads, with the real controllers of owners."""

from pathlib import Path
from typing import Final

import pytest
import yaml
from tenure.v1 import snapshot_pb2 as pb

from tests.e2e.command import run_tenure
from tests.e2e.kubernetes.test_owners import EXAMPLE, KEY, captured, template, workload
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import VOLCANO_POD_GROUP
from tests.kubernetes.owner_objects import OwnerCluster

pytestmark = pytest.mark.kube

MANIFESTS: Final = {
    "class of the pods of a Deployment": (
        workload("Deployment", "web", template()),
        "inference",
        "NON_PREEMPTIBLE",
    ),
    "class of the pods of a StatefulSet": (workload("StatefulSet", "db", template()), "train", "PREEMPTIBLE"),
    "class of a Job": (workload("Job", "sum", template()), "build", "NON_PREEMPTIBLE"),
    "class of the jobs of a CronJob": (workload("CronJob", "nightly", template()), "train", "PREEMPTIBLE"),
}
"""Manifests without preemptibility, the priority class of their pods, and what it implies."""
RUNAI: Final = "runai/priority-class"
LABELLED: Final = {
    "shop": workload("Deployment", "shop", template(), labels={RUNAI: "inference"}),
    "cart": workload("Deployment", "cart", template(labels={RUNAI: "inference"})),
}
"""Deployments that name a class in the label of Run:ai only, on themselves and in their pod templates."""


REQUEUED: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: my-job
  annotations:
    kai.scheduler/expected-runtime: "2h"
    kai.scheduler/requeue-delay: "10m"
spec:
  preemptibility: Preemptible
  minMember: 1
  queue: training
"""
"""The example of the requeue proposal. Volcano's own definition has no such field."""


@pytest.mark.skipif(not VOLCANO_POD_GROUP.file.exists(), reason="needs Volcano's own definition")
def test_field_that_volcano_drops_is_found_by_migrate_and_counts_as_an_annotation(
    owners: OwnerCluster, plane: ControlPlane, tmp_path: Path
) -> None:
    file = tmp_path / "my-job.yaml"
    file.write_text(REQUEUED)
    done = run_tenure("migrate", str(file))
    assert done.returncode == 1
    assert (
        f"spec.preemptibility is 'Preemptible', but this field is not read; write metadata.annotations[{KEY}]"
        in (done.stdout)
    )
    document = yaml.safe_load(REQUEUED)
    owners.apply(document)
    document["metadata"]["name"] = "as-told"
    document["metadata"]["annotations"][KEY] = document["spec"].pop("preemptibility")
    owners.apply(document)
    found = {row.name: row for row in captured(plane, tmp_path)}
    assert {name: row.annotations.get(KEY) for name, row in found.items()} == {
        "my-job": None,
        "as-told": "Preemptible",
    }
    for row in found.values():
        assert not row.preemptibility
        assert row.annotations["kai.scheduler/expected-runtime"] == "2h"
        assert row.annotations["kai.scheduler/requeue-delay"] == "10m"


def test_what_migrate_writes_is_what_the_adapter_reads(
    owners: OwnerCluster, plane: ControlPlane, tmp_path: Path
) -> None:
    """Also after the priority class no longer implies it."""
    cluster = owners.cluster
    documents = []
    for made, name, _ in MANIFESTS.values():
        pods = made["spec"].get("template") or made["spec"]["jobTemplate"]["spec"]["template"]
        pods["spec"]["priorityClassName"] = name
        documents.append(made)
    groups = {
        "gang": ("scheduling.run.ai/v2alpha2", "train", "PREEMPTIBLE"),
        "ring": ("scheduling.volcano.sh/v1beta1", "build", "NON_PREEMPTIBLE"),
    }
    for name, (version, of, _) in groups.items():
        spec = {"queue": "q", "priorityClassName": of, "minMember": 1}
        head = {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name}}
        documents.append({**head, "spec": spec})
    for name, made in LABELLED.items():
        made["spec"]["selector"]["matchLabels"]["app"] = name
        made["spec"]["template"]["metadata"]["labels"]["app"] = name
        documents.append(made)
    example = yaml.safe_load(EXAMPLE)
    example["spec"] = workload("Deployment", "x", template())["spec"]
    documents.append(example)
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    done = run_tenure("migrate", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    cluster.priorities(train=500, build=1, inference=2)
    for document in yaml.safe_load_all(file.read_text()):
        owners.apply(document)
    expected = {made["metadata"]["name"]: mode for made, _, mode in MANIFESTS.values()}
    expected |= {name: mode for name, (_, _, mode) in groups.items()}
    expected |= dict.fromkeys(LABELLED, "NON_PREEMPTIBLE")
    expected["external-workload"] = "NON_PREEMPTIBLE"
    for name in expected.keys() - groups.keys():
        owners.pods(name)
    found = {}
    for row in captured(plane, tmp_path):
        name = next(name for name in expected if row.name == name or row.name.startswith(f"{name}-"))
        text = row.annotations[KEY].upper().replace("-", "_")
        found[name] = pb.Preemptibility.Name(row.preemptibility).removeprefix("PREEMPTIBILITY_")
        if not row.preemptibility:
            found[name] = text
    assert found == expected
