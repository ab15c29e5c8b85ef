"""Which objects say whether they may be interrupted, where they say it, and how the value is spelled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tenure.server.codec.annotations import PREEMPTIBILITY
from tenure.server.migrate.objects import ManifestObject
from tenure.server.migrate.pods import pod_templates
from tenure.server.migrate.style import Path
from tenure.solver.model.workload import Preemptibility

CLASS: Final = "priorityClassName"
"""Name of the field, and key of the label where KAI's pod grouper looks first (semantics R8.3)."""
RUNAI_CLASS_LABEL: Final = ("metadata", "labels", "runai/priority-class")
"""How Run:ai names the class of workloads of other vendors (semantics D8.14); KAI does not read it."""

_FIELD: Final = ("spec", "preemptibility")
_LABEL: Final = ("metadata", "labels", PREEMPTIBILITY)
_NOTE: Final = ("metadata", "annotations", PREEMPTIBILITY)
_VOLCANO_NOTE: Final = ("metadata", "annotations", "volcano.sh/preemptable")
_CLASS_FIELD: Final = ("spec", CLASS)
_CLASS_LABEL: Final = ("metadata", "labels", CLASS)
_RAY_CLASS_LABEL: Final = ("metadata", "labels", "ray.io/priority-class-name")
_JOB_LABELS: Final = ("spec", "jobTemplate", "metadata", "labels")


def lower(mode: Preemptibility) -> str:
    """As KAI spells it, which accepts no other way (semantics R8.1): `non-preemptible`."""
    return mode.name.lower().replace("_", "-")


def title(mode: Preemptibility) -> str:
    """As the workloads of Run:ai spell it (semantics D8.1): `Non-Preemptible`."""
    return lower(mode).title()


@dataclass(frozen=True, slots=True)
class Kind:
    """How objects of one kind name their priority class and their preemptibility.

    The first of `classes` that says something counts; with `has_pods`, the pod templates are asked after
    them. `elsewhere` is where people write a preemptibility that does not count, or not for every reader.
    """

    place: Path
    classes: tuple[Path, ...]
    elsewhere: tuple[Path, ...]
    has_pods: bool = False
    any_spelling: bool = False
    """Whether upper case and a missing hyphen are understood (semantics R8.20)."""
    spell: Callable[[Preemptibility], str] = lower


# The pod grouper reads the label: of the workload first, then of its pods. It reads no annotation (R8.2).
_WORKLOAD: Final = Kind(_LABEL, (_CLASS_LABEL,), (_NOTE,), has_pods=True)
_RAY: Final = Kind(_LABEL, (_RAY_CLASS_LABEL, _CLASS_LABEL), (_NOTE,), has_pods=True)
_RUNAI: Final = Kind(_FIELD, (_CLASS_FIELD, _CLASS_LABEL, RUNAI_CLASS_LABEL), (_LABEL, _NOTE), spell=title)
# Each job that a CronJob makes is a pod group of its own: the labels of the CronJob itself are not read.
_CRON_JOB: Final = Kind(
    (*_JOB_LABELS, PREEMPTIBILITY), ((*_JOB_LABELS, CLASS),), (_LABEL, _NOTE), has_pods=True
)
_POD_CLIQUES: Final = Kind(_LABEL, (_CLASS_LABEL, ("spec", "template", CLASS)), (_NOTE,), has_pods=True)
_VOLCANO_GROUP: Final = Kind(_NOTE, (_CLASS_FIELD,), (_FIELD, _LABEL, _VOLCANO_NOTE), any_spelling=True)
# Volcano copies annotations and priority class of its jobs to the pod groups that it makes for them.
_VOLCANO_JOB: Final = Kind(_NOTE, (_CLASS_FIELD,), (_LABEL, _VOLCANO_NOTE), any_spelling=True)

_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    ("scheduling.run.ai", "PodGroup"): Kind(_FIELD, (_CLASS_FIELD,), (_LABEL, _NOTE)),
    ("scheduling.volcano.sh", "PodGroup"): _VOLCANO_GROUP,
    ("batch.volcano.sh", "Job"): _VOLCANO_JOB,
    ("batch", "CronJob"): _CRON_JOB,
    ("grove.io", "PodCliqueSet"): _POD_CLIQUES,
    ("ray.io", "RayCluster"): _RAY,
    ("ray.io", "RayJob"): _RAY,
    ("ray.io", "RayService"): _RAY,
    # No pod templates, but KAI knows them and reads the labels.
    ("amlarc.azureml.com", "AmlJob"): _WORKLOAD,
    ("argoproj.io", "Workflow"): _WORKLOAD,
    ("egx.nvidia.io", "SPOTRequest"): _WORKLOAD,
    ("kubeflow.org", "ScheduledWorkflow"): _WORKLOAD,
    ("kubevirt.io", "VirtualMachineInstance"): _WORKLOAD,
    ("machinelearning.seldon.io", "SeldonDeployment"): _WORKLOAD,
    ("nvidia.com", "DynamoGraphDeployment"): _WORKLOAD,
    ("tekton.dev", "PipelineRun"): _WORKLOAD,
    ("tekton.dev", "TaskRun"): _WORKLOAD,
    ("trainer.kubeflow.org", "TrainJob"): _WORKLOAD,
    ("workspace.devfile.io", "DevWorkspace"): _WORKLOAD,
}

EXEMPT: Final[Mapping[tuple[str, str], str]] = {
    ("apps", "DaemonSet"): "its pods belong to their nodes, so nobody gains from interrupting them",
    ("serving.knative.dev", "Service"): "KAI reads no preemptibility for the revisions of Knative",
}
"""Objects with pods that are left alone, and why."""


def kind_of(manifest: ManifestObject) -> Kind | None:
    """How the object says it; None when it runs no pods."""
    if known := _KINDS.get((manifest.group, manifest.kind)):
        return known
    if manifest.group == "run.ai" and manifest.kind.endswith("Workload"):
        return _RUNAI
    return _WORKLOAD if pod_templates(manifest.root) else None
