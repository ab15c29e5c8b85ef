"""Which objects say whether they may be interrupted, where they say it, and how the value is spelled.

The Kubernetes objects in a file: one a document, or several in a list.

The pod templates inside an object, wherever its kind keeps them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tenure.cli.migration.edits import Path
from tenure.cli.migration.syntax_tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    lookup,
    text_at,
    walk,
)
from tenure.codec.annotations import PREEMPTIBILITY
from tenure.solver.model.workload import Preemptibility


@dataclass(frozen=True, slots=True)
class ManifestObject:
    """An object with its kind. `document` counts from one, `line` too."""

    root: MappingNode
    document: int
    group: str
    """API group; empty for the core of Kubernetes."""
    kind: str

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.root.line + 1

    @property
    def name(self) -> str:
        """Its name, or the beginning of the name that it will be given."""
        generated = text_at(self.root, "metadata", "generateName")
        return text_at(self.root, "metadata", "name") or (generated and f"{generated}*")


def objects_in(documents: Iterable[Node]) -> Iterator[ManifestObject]:
    """All objects of a file; what has no kind is none."""
    for number, document in enumerate(documents, 1):
        for root in _members(document):
            version, kind = text_at(root, "apiVersion"), text_at(root, "kind")
            if isinstance(root, MappingNode) and version and kind:
                yield ManifestObject(root, number, version.rpartition("/")[0], kind)


def _members(document: Node) -> list[Node]:
    """The items of a list, as `kubectl get` prints several objects; of anything else only itself."""
    items = lookup(document, "items")
    if text_at(document, "kind").endswith("List") and isinstance(items, SequenceNode):
        return items.items
    return [document]


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """Metadata and spec of pods; for a pod, the pod itself."""

    owner: MappingNode
    spec: MappingNode

    def label(self, key: str) -> str:
        """A label of the pods; empty when there is none."""
        return text_at(self.owner, "metadata", "labels", key)


def pod_templates(root: MappingNode) -> list[PodTemplate]:
    """All of an object, in the order of the text.

    What a field ending in "spec" holds is the spec of pods when it lists containers or names a priority
    class; the second alone is what a patch looks like.
    """
    return [
        PodTemplate(node, value)
        for node in walk(root)
        if isinstance(node, MappingNode)
        for key, value in node.pairs
        if isinstance(value, MappingNode) and _names_spec(key) and _is_pod_spec(value)
    ]


def _names_spec(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.text.lower().endswith("spec")


def _is_pod_spec(node: MappingNode) -> bool:
    containers, name = lookup(node, "containers"), lookup(node, "priorityClassName")
    return isinstance(containers, SequenceNode) or isinstance(name, ScalarNode)


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
class WorkloadKind:
    """How objects of one kind name their priority class and their preemptibility.

    The first of `classes` that says something counts; with `has_pods`, the pod templates are asked after
    them. `elsewhere` is where people write a preemptibility that does not count, or not for every reader.
    """

    place: Path
    classes: tuple[Path, ...]
    ignored_places: tuple[Path, ...]
    has_pods: bool = False
    any_spelling: bool = False
    """Whether upper case and a missing hyphen are understood (semantics R8.20)."""
    spell: Callable[[Preemptibility], str] = lower


# The pod grouper reads the label: of the workload first, then of its pods. It reads no annotation (R8.2).
_WORKLOAD: Final = WorkloadKind(_LABEL, (_CLASS_LABEL,), (_NOTE,), has_pods=True)
_RAY: Final = WorkloadKind(_LABEL, (_RAY_CLASS_LABEL, _CLASS_LABEL), (_NOTE,), has_pods=True)
_RUNAI: Final = WorkloadKind(
    _FIELD, (_CLASS_FIELD, _CLASS_LABEL, RUNAI_CLASS_LABEL), (_LABEL, _NOTE), spell=title
)
# Each job that a CronJob makes is a pod group of its own: the labels of the CronJob itself are not read.
_CRON_JOB: Final = WorkloadKind(
    (*_JOB_LABELS, PREEMPTIBILITY), ((*_JOB_LABELS, CLASS),), (_LABEL, _NOTE), has_pods=True
)
_POD_CLIQUES: Final = WorkloadKind(
    _LABEL, (_CLASS_LABEL, ("spec", "template", CLASS)), (_NOTE,), has_pods=True
)
_VOLCANO_GROUP: Final = WorkloadKind(
    _NOTE, (_CLASS_FIELD,), (_FIELD, _LABEL, _VOLCANO_NOTE), any_spelling=True
)
# Volcano copies annotations and priority class of its jobs to the pod groups that it makes for them.
_VOLCANO_JOB: Final = WorkloadKind(_NOTE, (_CLASS_FIELD,), (_LABEL, _VOLCANO_NOTE), any_spelling=True)

_KINDS: Final[Mapping[tuple[str, str], WorkloadKind]] = {
    ("scheduling.run.ai", "PodGroup"): WorkloadKind(_FIELD, (_CLASS_FIELD,), (_LABEL, _NOTE)),
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


def kind_of(manifest: ManifestObject) -> WorkloadKind | None:
    """How the object says it; None when it runs no pods."""
    if known := _KINDS.get((manifest.group, manifest.kind)):
        return known
    if manifest.group == "run.ai" and manifest.kind.endswith("Workload"):
        return _RUNAI
    return _WORKLOAD if pod_templates(manifest.root) else None
