"""Kinds of objects with preemptibility: where it is set and how it is spelled; objects and pod templates in
files.
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
from tenure.terms.annotations import annotation
from tenure.terms.preemptibility import Preemptibility


@dataclass(frozen=True, slots=True)
class ManifestObject:
    """An object of a file. `document` and `line` count from one."""

    root: MappingNode
    document: int
    group: str
    """API group; empty for the core group."""
    kind: str

    @property
    def line(self) -> int:
        """Its first line."""
        return self.root.line + 1

    @property
    def name(self) -> str:
        """Its name or generateName."""
        generated = text_at(self.root, "metadata", "generateName")
        return text_at(self.root, "metadata", "name") or (generated and f"{generated}*")


def objects_in(documents: Iterable[Node]) -> Iterator[ManifestObject]:
    """All objects of a file that have a kind."""
    for number, document in enumerate(documents, 1):
        for root in _members(document):
            version, kind = text_at(root, "apiVersion"), text_at(root, "kind")
            if isinstance(root, MappingNode) and version and kind:
                yield ManifestObject(root, number, version.rpartition("/")[0], kind)


def _members(document: Node) -> list[Node]:
    """The items of a List object; otherwise the object itself."""
    items = lookup(document, "items")
    if text_at(document, "kind").endswith("List") and isinstance(items, SequenceNode):
        return items.items
    return [document]


def notes_and_labels(*keys: str, within: Path = ()) -> tuple[Path, ...]:
    """Paths of annotations and labels in the order in which the adapter reads them."""
    return tuple((*within, "metadata", place, key) for key in keys for place in ("annotations", "labels"))


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """Metadata and spec of a pod or pod template."""

    owner: MappingNode
    spec: MappingNode

    def text(self, *keys: str) -> str:
        """The first value of an annotation or label of the pods; empty if none is set."""
        return next(filter(None, (text_at(self.owner, *path) for path in notes_and_labels(*keys))), "")


def pod_templates(root: MappingNode) -> list[PodTemplate]:
    """All pod templates of an object, in text order.

    The value of a field whose name ends in "spec" is a pod spec if it has containers or a priority class. A
    patch has only the second.
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
"""Name of the field, and key of the label that KAI's pod grouper reads first (semantics R8.3)."""
_RAY_CLASS, _, _RUNAI_CLASS = annotation("priority-class-name").keys
OTHER_CLASSES: Final = (_RAY_CLASS, _RUNAI_CLASS)
"""Labels of Ray, and of Run:ai for workloads of other vendors (semantics D8.14), which the adapter reads."""
PREEMPTIBILITY, VOLCANO_KEY = annotation("preemptibility").keys
"""Annotation or label with true or false."""

_FIELD: Final = ("spec", "preemptibility")
_LABEL: Final = ("metadata", "labels", PREEMPTIBILITY)
_NOTE: Final = ("metadata", "annotations", PREEMPTIBILITY)
_WISHES: Final = notes_and_labels(PREEMPTIBILITY, VOLCANO_KEY)
_CLASS_FIELD: Final = ("spec", CLASS)
_CLASSES: Final = notes_and_labels(CLASS)
_RAY_CLASSES: Final = notes_and_labels(_RAY_CLASS, CLASS)
_GROUP_CLASSES: Final = notes_and_labels(_RAY_CLASS, CLASS, _RUNAI_CLASS)
_JOB: Final = ("spec", "jobTemplate")
OTHER_CLASS_PLACES: Final = (
    *notes_and_labels(*OTHER_CLASSES, within=_JOB),
    *notes_and_labels(*OTHER_CLASSES),
)
"""Places of these labels in a workload; only a CronJob has the first ones."""


def lower(mode: Preemptibility) -> str:
    """Spelling of KAI, the only one it accepts (semantics R8.1): `non-preemptible`."""
    return mode.name.lower().replace("_", "-")


def title(mode: Preemptibility) -> str:
    """Spelling of Run:ai workloads (semantics D8.1): `Non-Preemptible`."""
    return lower(mode).title()


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """Fields of a kind for priority class and preemptibility.

    The first of `places` with a preemptibility applies, and the first of `classes`; with `has_pods`, pod
    templates come after them. `place` is where a preemptibility is written, `ignored_places` where it is not
    read.
    """

    place: Path
    classes: tuple[Path, ...]
    places: tuple[Path, ...] = _WISHES
    ignored_places: tuple[Path, ...] = ()
    has_pods: bool = False
    spell: Callable[[Preemptibility], str] = lower


# KAI's pod grouper reads the label of the workload first, then of its pods. It reads no annotation (R8.2).
_WORKLOAD: Final = WorkloadKind(_LABEL, _CLASSES, has_pods=True)
_RAY: Final = WorkloadKind(_LABEL, _RAY_CLASSES, has_pods=True)
_RUNAI: Final = WorkloadKind(_FIELD, (_CLASS_FIELD, *_GROUP_CLASSES), (_FIELD, *_WISHES), spell=title)
# Each job of a CronJob is a pod group: what its jobs have precedes what the CronJob itself has.
_CRON_JOB: Final = WorkloadKind(
    (*_JOB, *_LABEL),
    (*notes_and_labels(CLASS, within=_JOB), *_CLASSES),
    (*notes_and_labels(PREEMPTIBILITY, VOLCANO_KEY, within=_JOB), *_WISHES),
    has_pods=True,
)
_POD_CLIQUES: Final = WorkloadKind(_LABEL, (*_CLASSES, ("spec", "template", CLASS)), has_pods=True)
_KAI_GROUP: Final = WorkloadKind(_FIELD, (_CLASS_FIELD, *_GROUP_CLASSES), (_FIELD, *_WISHES))
# The definitions of Volcano and of Kubernetes itself have no such field: the API server drops it.
_OTHER_GROUP: Final = WorkloadKind(_NOTE, (_CLASS_FIELD, *_GROUP_CLASSES), ignored_places=(_FIELD,))
# Volcano copies annotations and the priority class of its jobs to their pod groups.
_VOLCANO_JOB: Final = WorkloadKind(
    _NOTE,
    (_CLASS_FIELD,),
    (_NOTE, ("metadata", "annotations", VOLCANO_KEY)),
    ignored_places=(_LABEL, ("metadata", "labels", VOLCANO_KEY)),
)

_KINDS: Final[Mapping[tuple[str, str], WorkloadKind]] = {
    ("scheduling.run.ai", "PodGroup"): _KAI_GROUP,
    ("scheduling.volcano.sh", "PodGroup"): _OTHER_GROUP,
    ("scheduling.k8s.io", "PodGroup"): _OTHER_GROUP,
    ("batch.volcano.sh", "Job"): _VOLCANO_JOB,
    ("batch", "CronJob"): _CRON_JOB,
    ("grove.io", "PodCliqueSet"): _POD_CLIQUES,
    ("ray.io", "RayCluster"): _RAY,
    ("ray.io", "RayJob"): _RAY,
    ("ray.io", "RayService"): _RAY,
    # No pod templates, but KAI reads their labels.
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
    ("apps", "DaemonSet"): "its pods belong to their nodes; evicting them frees nothing",
    ("scheduling.k8s.io", "Workload"): "its pod groups are objects of their own, or get it from their pods",
    ("serving.knative.dev", "Service"): "KAI reads no preemptibility for the revisions of Knative",
}
"""Kinds with pods that are excluded, and why."""


def kind_of(manifest: ManifestObject) -> WorkloadKind | None:
    """Kind of an object; None if it runs no pods."""
    if known := _KINDS.get((manifest.group, manifest.kind)):
        return known
    if manifest.group == "run.ai" and manifest.kind.endswith("Workload"):
        return _RUNAI
    return _WORKLOAD if pod_templates(manifest.root) else None
