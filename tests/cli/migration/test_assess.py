"""Migration report: sources, objects that need attention, unchanged objects (semantics R1.80, R8.3)."""

from pathlib import Path

import pytest
from tenure.cli.migration import Status

from tests.cli.migration.manifest_folder import migrated_text, plan_of, plan_statuses

GROUP = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec:\n  "
VOLCANO = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g%s}\nspec: {%s}\n"
RUNAI = "apiVersion: run.ai/v1\nkind: TrainingWorkload\nmetadata: {name: w%s}\nspec: {%s}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p%s}\nspec: {containers: []%s}\n"
CRON = (
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c%s}\n"
    "spec: {jobTemplate: {spec: {template: {spec: {priorityClassName: train, containers: []}}}}}\n"
)
JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  pytorchReplicaSpecs:
    Master: {template: {metadata: {labels: {%s}}, spec: {containers: []%s}}}
    Worker: {template: {metadata: {labels: {%s}}, spec: {containers: []%s}}}
"""
KEY = "kai.scheduler/preemptibility"
LABEL = ", labels: {" + KEY + ": %s}"
NOTE = ", annotations: {" + KEY + ": %s}"
TRAIN = ", priorityClassName: train"
BUILD = ", priorityClassName: build"

EXPLICIT = {
    "field": GROUP + "preemptibility: non-preemptible\n  priorityClassName: train\n",
    "semi-preemptible, which no priority means": GROUP + "preemptibility: semi-preemptible\n",
    "a class nobody knows does not matter": GROUP
    + "preemptibility: preemptible\n  priorityClassName: gold\n",
    "annotation of Volcano, any spelling (R8.20)": VOLCANO
    % (NOTE % "NonPreemptible", "priorityClassName: train"),
    "Run:ai (seed example 1)": RUNAI % ("", "priorityClassName: inference, preemptibility: Preemptible"),
    "label": POD % (LABEL % "non-preemptible", TRAIN),
    "label in any spelling": POD % (LABEL % "Non-Preemptible", TRAIN),
    "annotation of a workload (seed example 3)": POD
    % (NOTE % "Non-Preemptible" + ", labels: {runai/priority-class: train}", ""),
    "annotation of a pod group of KAI": GROUP.replace(
        "{name: g}", "{name: g, annotations: {" + KEY + ": Preemptible}}"
    )
    + "queue: a\n",
    "label of a workload of Run:ai": RUNAI % (LABEL % "preemptible", "priorityClassName: build"),
    "label of a CronJob": CRON % (LABEL % "non-preemptible"),
    "annotation of Volcano's own": VOLCANO
    % (', annotations: {volcano.sh/preemptable: "false"}', "priorityClassName: train"),
    "label of the pods (R8.2)": JOB % (f"{KEY}: preemptible", TRAIN, f"{KEY}: preemptible", BUILD),
}


@pytest.mark.parametrize("text", EXPLICIT.values(), ids=EXPLICIT)
def test_explicit_value_is_unchanged(tmp_path: Path, text: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": text})
    assert (plan_statuses(plan), migrated_text(plan)) == ([Status.EXPLICIT], text)


TWO = "preemptible or non-preemptible"
ATTENTION = {
    "unknown value": (
        POD % (LABEL % "Never", TRAIN),
        f"metadata.labels[{KEY}] is 'Never', which is not a known value; write {TWO}",
    ),
    "a value that KAI does not accept (D8.1)": (
        GROUP + "preemptibility: Preemptible\n  priorityClassName: train\n",
        "spec.preemptibility is 'Preemptible', which must be spelled preemptible",
    ),
    "a value that Run:ai does not accept (D8.1)": (
        RUNAI % ("", "priorityClassName: train, preemptibility: nonpreemptible"),
        "spec.preemptibility is 'nonpreemptible', which must be spelled Non-Preemptible",
    ),
    "a value that is no text": (
        POD % (LABEL % "true", TRAIN),
        f"metadata.labels[{KEY}] is 'true', which is not a known value; write {TWO}",
    ),
    "a field where the annotation counts (D8.12)": (
        VOLCANO % ("", "priorityClassName: build, preemptibility: Preemptible"),
        "spec.preemptibility is 'Preemptible', but this field is not read; "
        f"write metadata.annotations[{KEY}]: {TWO}",
    ),
    "a field that pod groups of Kubernetes itself do not have": (
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
        "spec: {priorityClassName: build, preemptibility: preemptible}\n",
        "spec.preemptibility is 'preemptible', but this field is not read; "
        f"write metadata.annotations[{KEY}]: {TWO}",
    ),
    "Volcano's annotation that is neither": (
        VOLCANO % (', annotations: {volcano.sh/preemptable: "maybe"}', "priorityClassName: train"),
        "metadata.annotations[volcano.sh/preemptable] is 'maybe', which is not true or false; "
        f"write metadata.annotations[{KEY}]: {TWO}",
    ),
    "pods that say different things": (
        JOB % (f"{KEY}: preemptible", TRAIN, f"{KEY}: non-preemptible", TRAIN),
        f"its pod templates differ in {KEY}: 'preemptible', 'non-preemptible'; "
        f"write metadata.labels[{KEY}]: {TWO}",
    ),
    "pods of which some say nothing": (
        JOB % ("", TRAIN, f"{KEY}: non-preemptible", TRAIN),
        f"its pod templates differ in {KEY}: nothing, 'non-preemptible'; write metadata.labels[{KEY}]: {TWO}",
    ),
    "an unknown value of the pods": (
        JOB % (f"{KEY}: yes", TRAIN, f"{KEY}: yes", TRAIN),
        f"its pods: metadata.labels[{KEY}] is 'yes', which is not a known value; write {TWO}",
    ),
    "unknown class": (
        POD % ("", ", priorityClassName: gold"),
        "its priority class gold is not defined in the manifests; add --priority-class gold=VALUE",
    ),
    "an unknown class in the label hides the known one of the pods (R8.3)": (
        POD % (", labels: {priorityClassName: gold}", TRAIN),
        "its priority class gold is not defined in the manifests; add --priority-class gold=VALUE",
    ),
    "classes that differ in meaning": (
        JOB % ("", TRAIN, "", BUILD),
        "it sets several priority classes with different preemptibility: train, build; set one of them",
    ),
    "pods of which some name no class": (
        JOB % ("", TRAIN, "", ""),
        "only some of its pod templates set a priority class; set it in all of them",
    ),
    "a class for KAI and another one for Run:ai in the pods": (
        JOB % ("runai/priority-class: build", TRAIN, "runai/priority-class: build", TRAIN),
        "it sets several priority classes with different preemptibility: train, build; set one of them",
    ),
    "a class of Ray on a workload of another kind": (
        POD % (", labels: {priorityClassName: train, ray.io/priority-class-name: build}", ""),
        "it sets several priority classes with different preemptibility: train, build; set one of them",
    ),
    "a class for KAI and another one for Run:ai": (
        POD % (", labels: {runai/priority-class: train}", BUILD),
        "it sets several priority classes with different preemptibility: build, train; set one of them",
    ),
}


@pytest.mark.parametrize(("text", "message"), ATTENTION.values(), ids=ATTENTION)
def test_ambiguous_object_needs_attention_and_is_unchanged(tmp_path: Path, text: str, message: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": text})
    (finding,) = plan.findings
    assert (finding.status, migrated_text(plan)) == (Status.ATTENTION, text)
    assert finding.message == message


def test_a_finding_names_file_line_document_and_object(tmp_path: Path) -> None:
    text = "---\n---\n" + GROUP + "priorityClassName: train\n  preemptibility: Never\n"
    (finding,) = plan_of(tmp_path, {"a/m.yaml": text}).findings
    assert str(finding).startswith(f"{tmp_path}/a/m.yaml:8: document 2, PodGroup g: spec.preemptibility is")
    (finding,) = plan_of(
        tmp_path, {"a/m.yaml": POD.replace("name: p", "") % ("", ", priorityClassName: x")}
    ).findings
    assert str(finding).startswith(f"{tmp_path}/a/m.yaml:1: document 1, Pod (no name): ")


LEFT_ALONE = {
    "no class: a default decides": POD % ("", ""),
    "an empty class": POD % ("", ', priorityClassName: ""'),
    "a pod group without a class": GROUP + "queue: a\n",
    "a daemon set": (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n"
        "spec: {template: {spec: {containers: [], priorityClassName: system-node-critical}}}\n"
    ),
    "templates of pod groups of Kubernetes itself": (
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: Workload\nmetadata: {name: w}\n"
        "spec: {podGroupTemplates: [{name: g, priorityClassName: train}]}\n"
    ),
    "a service of Knative": (
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: d}\n"
        "spec: {template: {spec: {containers: [], priorityClassName: train}}}\n"
    ),
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_objects_without_usable_priority_class_are_unchanged(tmp_path: Path, text: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": text})
    assert (plan_statuses(plan), migrated_text(plan)) == ([Status.UNCHANGED], text)


NO_PODS = {
    "a service": "apiVersion: v1\nkind: Service\nmetadata: {labels: {priorityClassName: train}}\n",
    "a selector is no pod": "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
    "spec: {selector: {matchLabels: {priorityClassName: train}}}\n",
    "a definition": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "spec: {properties: {spec: {properties: {priorityClassName: {type: string}, containers: {}}}}}\n",
    "no object": "- a\n- {kind: Pod}\n",
    "text": "hello\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", NO_PODS.values(), ids=NO_PODS)
def test_objects_without_pods_are_not_counted(tmp_path: Path, text: str) -> None:
    assert plan_statuses(plan_of(tmp_path, {"m.yaml": text})) == []
