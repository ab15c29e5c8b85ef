"""Where users write preemptibility, priority class and queue, and which of several places counts.

    the pod group, if it is an object: nothing else counts
    else the owners of the pod, the top owner first: a Deployment before its ReplicaSet
    then owners that create workloads one after the other: the CronJob of a Job
    then the pod, which has the labels and annotations of its template

In each place, a field of the spec precedes an annotation, and that a label. An unreadable fate counts as
`requeue`, which destroys nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from google.protobuf.duration_pb2 import Duration
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.times import FOREVER, read_duration, read_time
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION, MAX_COUNT

LONGEST_ANNOTATION: Final = MAX_ANNOTATION + 1
"""A server reads no longer annotation; it reports that one with this length is too long."""
_MODES: Final = {
    "preemptible": pb.PREEMPTIBILITY_PREEMPTIBLE,
    "nonpreemptible": pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
    "non-preemptible": pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
    "semipreemptible": pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE,
    "semi-preemptible": pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE,
}
TRUE: Final = frozenset(("1", "t", "true"))
FALSE: Final = frozenset(("0", "f", "false"))
_FATES: Final[Mapping[str, pb.Fate]] = {
    "requeue": pb.FATE_REQUEUE,
    "hold": pb.FATE_HOLD,
    "delete": pb.FATE_DELETE,
    "suspend": pb.FATE_SUSPEND,
}
_AT_LIMIT: Final[Mapping[str, pb.AtEvictionLimit]] = {
    "immune": pb.AT_EVICTION_LIMIT_IMMUNE,
    "hold": pb.AT_EVICTION_LIMIT_HOLD,
}
_LONGEST_NUMBER: Final = 18
"""Digits of a number that count: the rest only makes it larger than any limit."""
_COST_DURATIONS: Final = {
    names.CHECKPOINT_INTERVAL: "checkpoint_interval",
    names.RESTART_COST: "restart_cost",
}


class Place(NamedTuple):
    """An object on which users write, with the fields of its spec."""

    metadata: ObjectMeta
    preemptibility: str = ""
    priority_class: str = ""
    queue: str = ""

    def texts(self, *keys: str) -> Iterator[str]:
        """Values of annotations and labels with these keys, the first key first, without empty ones."""
        for key in keys:
            yield from filter(None, (self.metadata.annotations.get(key), self.metadata.labels.get(key)))


def place_of(owner: OwnerObject) -> Place:
    """An owner as a place."""
    return Place(owner.metadata, owner.preemptibility, owner.priority_class, owner.queue)


def queue_of(places: Iterable[Place]) -> str:
    """The queue; "": none is set."""
    found = (
        text
        for place in places
        for text in (place.queue, *place.texts(names.QUEUE, names.VOLCANO_QUEUE))
        if text
    )
    return next(found, "")


def priority_classes_of(places: Iterable[Place]) -> list[str]:
    """Priority classes, the one that counts first."""
    return [
        name
        for place in places
        for name in (place.priority_class, *place.texts(*names.PRIORITY_CLASSES))
        if name
    ]


def read_preemptibility(row: pb.PodGroup, places: Iterable[Place], warnings: list[str]) -> None:
    """Set the preemptibility of a pod group. The server parses texts of annotations and labels, and warns."""
    for place in places:
        if place.preemptibility:
            row.preemptibility = _mode(place.preemptibility, warnings)
            return
        if text := next(place.texts(names.PREEMPTIBILITY), ""):
            row.annotations[names.PREEMPTIBILITY] = text[:LONGEST_ANNOTATION]
            return
        if text := next(place.texts(names.VOLCANO_PREEMPTABLE), ""):
            row.preemptibility = _preemptable(text, warnings)
            return


def read_durations(row: pb.PodGroup, annotations: Mapping[str, str]) -> None:
    """Pass durations that users may set to the server."""
    for key in names.DURATIONS:
        if key in annotations:
            row.annotations[key] = annotations[key][:LONGEST_ANNOTATION]


def read_costs(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set what an eviction costs. Unreadable values count as unset; that about shrinking counts as true."""
    texts = {key: annotations[key].strip() for key in names.COSTS if annotations.get(key)}
    if text := texts.get(names.LAST_CHECKPOINT):
        if (moment := read_time(text)) is not None:
            row.last_checkpoint_time.CopyFrom(moment)
        else:
            warnings.append(unreadable(names.LAST_CHECKPOINT, text, "a time"))
    for name, field in _COST_DURATIONS.items():
        if text := texts.get(name):
            span = read_duration(text)
            if span is not None and span.ToNanoseconds() >= 0:
                getattr(row, field).CopyFrom(span)
            else:
                warnings.append(unreadable(name, text, "a duration"))
    if text := texts.get(names.EVICTION_COST):
        if text.isascii() and text.isdecimal():
            row.eviction_cost = min(int(text[:_LONGEST_NUMBER]), MAX_COUNT)
        else:
            warnings.append(unreadable(names.EVICTION_COST, text, "a number of GPU-seconds"))
    if text := texts.get(names.SHRINK_LOSES_WORK):
        row.shrink_loses_work = text.lower() not in FALSE
        if text.lower() not in (*TRUE, *FALSE):
            warnings.append(unreadable(names.SHRINK_LOSES_WORK, text, "true or false, and is read as true"))


def unreadable(name: str, text: str, kind: str) -> str:
    """Warning about an annotation."""
    return f"annotation {name}: {text[:64]!r} is not {kind}"


def annotations_of(places: Sequence[Place]) -> dict[str, str]:
    """Annotations of all places, each with the value that counts."""
    return {key: text for place in reversed(places) for key, text in place.metadata.annotations.items()}


def _mode(text: str, warnings: list[str]) -> pb.Preemptibility:
    """Preemptibility. An unknown value protects, with a warning."""
    mode = _MODES.get(text.strip().lower())
    if mode is None:
        warnings.append(f"unknown preemptibility {text[:64]!r} is read as non-preemptible")
    return mode or pb.PREEMPTIBILITY_NON_PREEMPTIBLE


def _preemptable(text: str, warnings: list[str]) -> pb.Preemptibility:
    """Preemptibility by Volcano's annotation."""
    if text.lower() in TRUE:
        return pb.PREEMPTIBILITY_PREEMPTIBLE
    if text.lower() not in FALSE:
        warnings.append(
            f"{names.VOLCANO_PREEMPTABLE}: {text[:64]!r} is not true or false: the pod group is protected"
        )
    return pb.PREEMPTIBILITY_NON_PREEMPTIBLE


def read_fate(
    annotations: Mapping[str, str],
    warnings: list[str],
    key: str = names.ON_EVICT,
    otherwise: pb.Fate = pb.FATE_REQUEUE,
) -> pb.Fate:
    """An annotation of a pod group or a queue; FATE_UNSPECIFIED: there is none."""
    text = annotations.get(key)
    if text is None:
        return pb.FATE_UNSPECIFIED
    if (fate := _FATES.get(text.strip().lower())) is None:
        known = ", ".join(_FATES)
        word = next(word for word, number in _FATES.items() if number == otherwise)
        warnings.append(f"annotation {key}: {text[:32]!r} is none of {known}: it counts as {word}")
    return fate or otherwise


def read_notice(annotations: Mapping[str, str], warnings: list[str]) -> Duration | None:
    """Notice of a pod group or a queue; None: there is no annotation.

    An unreadable value counts as the longest notice that the profile permits.
    """
    text = annotations.get(names.NOTICE)
    if text is None:
        return None
    span = read_duration(text.strip())
    if span is None or span.ToNanoseconds() < 0:
        problem = f"{text[:64]!r} is not a duration: the longest permitted notice is given"
        warnings.append(f"annotation {names.NOTICE}: {problem}")
        return FOREVER
    return span


def read_own_notice(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set the notice of a pod group, and whether it saves its work then; unreadable counts as no."""
    if (notice := read_notice(annotations, warnings)) is not None:
        row.notice.CopyFrom(notice)
    text = annotations.get(names.CHECKPOINT_ON_NOTICE, "").strip()
    row.checkpoint_on_notice = text.lower() in TRUE
    if text and text.lower() not in (*TRUE, *FALSE):
        problem = "true or false, and is read as false"
        warnings.append(unreadable(names.CHECKPOINT_ON_NOTICE, text, problem))


def read_eviction_limit(annotations: Mapping[str, str], warnings: list[str]) -> pb.AtEvictionLimit:
    """The annotation of a queue; unreadable counts as immune, which evicts no more."""
    text = annotations.get(names.AT_EVICTION_LIMIT)
    if text is None:
        return pb.AT_EVICTION_LIMIT_UNSPECIFIED
    if (found := _AT_LIMIT.get(text.strip().lower())) is None:
        problem = f"{text[:32]!r} is none of {', '.join(_AT_LIMIT)}: it counts as immune"
        warnings.append(f"annotation {names.AT_EVICTION_LIMIT}: {problem}")
    return found or pb.AT_EVICTION_LIMIT_IMMUNE
