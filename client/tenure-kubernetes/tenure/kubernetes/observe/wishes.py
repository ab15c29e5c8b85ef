"""Where users write preemptibility, priority class and queue, and which of several places counts.

    the pod group, if it is an object: nothing else counts
    else the owners of the pod, the top owner first: a Deployment before its ReplicaSet
    then owners that create workloads one after the other: the CronJob of a Job
    then the pod, which has the labels and annotations of its template

In each place, a field of the spec precedes an annotation, and that a label. A blank text is unset everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.annotations.fields import FALSE, TRUE, unreadable
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.terms.preemptibility import (
    SPELLINGS,
    Preemptibility,
    PreemptibilityReading,
    parse_preemptibility,
)
from tenure.terms.preemptibility import read_preemptibility as read_texts
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION

LONGEST_ANNOTATION: Final = MAX_ANNOTATION + 1
"""A server reads no longer annotation; it reports that one with this length is too long."""
_CONSOLIDATION: Final = "consolidation"
"""The action that moves pods."""
_ON_WIRE: Final = {
    Preemptibility.UNSPECIFIED: pb.PREEMPTIBILITY_UNSPECIFIED,
    Preemptibility.PREEMPTIBLE: pb.PREEMPTIBILITY_PREEMPTIBLE,
    Preemptibility.NON_PREEMPTIBLE: pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
    Preemptibility.SEMI_PREEMPTIBLE: pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE,
}


class Place(NamedTuple):
    """An object on which users write, with the fields of its spec."""

    metadata: ObjectMeta
    preemptibility: str = ""
    priority_class: str = ""
    queue: str = ""

    def is_label(self, key: str) -> bool:
        """Whether the first text of a key is a label, because there is no annotation."""
        return not (self.metadata.annotations.get(key) or "").strip()

    def texts(self, *keys: str) -> Iterator[str]:
        """Values of annotations and labels with these keys, the first key first, without blank ones."""
        for key in keys:
            found = (self.metadata.annotations.get(key), self.metadata.labels.get(key))
            yield from (text for text in found if text and text.strip())


def place_of(owner: OwnerObject) -> Place:
    """An owner as a place."""
    return Place(owner.metadata, owner.preemptibility, owner.priority_class, owner.queue)


def queue_of(places: Iterable[Place]) -> str:
    """The queue; "": none is set."""
    found = (
        text
        for place in places
        for text in (place.queue, *place.texts(names.QUEUE, names.VOLCANO_QUEUE))
        if text.strip()
    )
    return next(found, "")


def queue_of_workload(places: Sequence[Place], node_pool: str) -> str:
    """The queue of a pod group that is derived, or gone: without one, that of the project."""
    if queue := queue_of(places):
        return queue
    labels = (place.metadata.labels.get(names.PROJECT, "").strip() for place in places)
    project = next(filter(None, labels), "")
    return f"{project}-{node_pool}" if project and node_pool else project


def skips_grouping(place: ObjectMeta) -> bool:
    """Whether no pod group is to be derived for the pods below an owner, or for a pod."""
    return place.annotations.get(names.SKIP_POD_GROUPER) == "true"


def priority_classes_of(places: Iterable[Place]) -> list[str]:
    """Priority classes, the one that counts first."""
    return [
        name
        for place in places
        for name in (place.priority_class, *place.texts(*names.PRIORITY_CLASSES))
        if name.strip()
    ]


def read_preemptibility(row: pb.PodGroup, places: Iterable[Place], warnings: list[str]) -> None:
    """Set the preemptibility of a pod group. The server parses texts of annotations and labels, and warns."""
    for place in places:
        if place.preemptibility.strip():
            row.preemptibility = _ON_WIRE[_mode(place.preemptibility, warnings)]
            return
        if text := next(place.texts(names.PREEMPTIBILITY), ""):
            row.annotations[names.PREEMPTIBILITY] = text[:LONGEST_ANNOTATION]
            row.is_preemptibility_label = place.is_label(names.PREEMPTIBILITY)
            return
        if text := next(place.texts(names.VOLCANO_PREEMPTABLE), ""):
            row.annotations[names.PREEMPTIBILITY] = SPELLINGS[_preemptable(text, warnings)]
            row.is_preemptibility_label = place.is_label(names.VOLCANO_PREEMPTABLE)
            return


def preemptibility_of(places: Iterable[Place]) -> PreemptibilityReading:
    """What the places say, as the server reads the row of the adapter; UNSPECIFIED: the priority decides."""
    row = pb.PodGroup()
    read_preemptibility(row, places, [])
    text = row.annotations.get(names.PREEMPTIBILITY, "")
    return read_texts(row.preemptibility, text, row.is_preemptibility_label)


def read_durations(row: pb.PodGroup, annotations: Mapping[str, str]) -> None:
    """Pass durations that users may set to the server."""
    for key in names.DURATIONS:
        if key in annotations:
            row.annotations[key] = annotations[key][:LONGEST_ANNOTATION]


def read_moves(
    row: pb.PodGroup, field: bool | None, annotations: Mapping[str, str], warnings: list[str]
) -> None:
    """Let a pod group that must not move opt out of consolidation: by a field, else by an annotation."""
    text = annotations.get(names.SAFE_TO_CONSOLIDATE, "").strip().lower()
    if field is None and text and text not in (*TRUE, *FALSE):
        warnings.append(unreadable(names.SAFE_TO_CONSOLIDATE, text, "true or false: it is ignored"))
    must_stay = text in FALSE if field is None else not field
    if must_stay and _CONSOLIDATION not in row.opt_out_actions:
        row.opt_out_actions.append(_CONSOLIDATION)


def annotations_of(places: Sequence[Place]) -> dict[str, str]:
    """Annotations of all places, each with the value that counts: the first one that is not blank."""
    written: dict[str, str] = {}
    for place in reversed(places):
        for key, text in place.metadata.annotations.items():
            if text.strip() or key not in written:
                written[key] = text
    return written


def _mode(text: str, warnings: list[str]) -> Preemptibility:
    """Preemptibility of a field. An unknown value protects, with a warning."""
    mode = parse_preemptibility(text)
    if mode is None:
        warnings.append(f"unknown preemptibility {text[:64]!r} is read as non-preemptible")
        return Preemptibility.NON_PREEMPTIBLE
    return mode


def _preemptable(text: str, warnings: list[str]) -> Preemptibility:
    """Preemptibility by Volcano's annotation."""
    stripped = text.strip().lower()
    if stripped in TRUE:
        return Preemptibility.PREEMPTIBLE
    if stripped not in FALSE:
        warnings.append(
            f"{names.VOLCANO_PREEMPTABLE}: {text[:64]!r} is not true or false: the pod group is protected"
        )
    return Preemptibility.NON_PREEMPTIBLE
