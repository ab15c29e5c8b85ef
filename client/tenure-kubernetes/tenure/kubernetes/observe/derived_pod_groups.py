"""Pod groups of pods that name none, derived from their owners as pod groupers do.

    no owner, ReplicaSet, StatefulSet, ...   one pod group per pod
    leader and workers (LeaderWorkerSet)     each replica is a gang of its size
    any other owner (Job, JobSet, PyTorchJob, RayCluster, ...)   one pod group for the top owner: a gang if
                                             the owner sets the number of pods, else minimum 1

Users write the owner and replica labels of a pod, so they are not trusted beyond its namespace. They are only
part of the uid of a pod group, together with the namespace.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.owner import OwnerObject
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.owners import Owner, OwnerLookup
from tenure.kubernetes.observe.pod_group_rows import count, not_negative
from tenure.kubernetes.observe.snapshot_scope import Priorities, SnapshotScope
from tenure.kubernetes.observe.times import read_duration, timestamp
from tenure.kubernetes.observe.wishes import (
    Place,
    annotations_of,
    place_of,
    priority_classes_of,
    queue_of,
    read_durations,
    read_preemptibility,
)
from tenure.v1 import snapshot_pb2 as pb

_EACH_FOR_ITSELF: Final = frozenset(
    ("ReplicaSet", "ReplicationController", "StatefulSet", "Deployment", "DaemonSet", "Node")
)
"""Kinds of owners with independent pods."""
_NODE: Final = "Node"
"""Owner of static pods, on which users do not write."""
_ENCODE: Final = msgspec.json.Encoder().encode
_LWS_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-key"
_LWS_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
_SERVES: Final = frozenset(("ReplicaSet", "ReplicationController", "StatefulSet", "Deployment"))
_UID_LENGTH: Final = 32
"""Hex digits in the uid of a derived pod group; a Kubernetes uid has as many."""
_SERVING_CLASS: Final = "inference"
_TRAINING_CLASS: Final = "train"
"""Default priority classes, if they exist (semantics R1.81, R8.3)."""


class Origin(NamedTuple):
    """Origin of a derived pod group."""

    uid: str
    """Uid of its only pod, or a digest."""
    owner: ObjectMeta | None
    """The owner that the pod group stands for; None: it stands for its pods."""
    gang: int
    serves: bool
    warning: str = ""
    """What is unknown about the owner; "": nothing."""
    chain: tuple[OwnerObject, ...] = ()
    """Owners on which users write, the first one that counts first."""


def origin_of(pod: Pod, owners: OwnerLookup) -> Origin | None:
    """Origin of the pod group of a pod; None: its owner cannot be looked up for now."""
    meta, reference = pod.metadata, pod.metadata.owner()
    owner = Owner(ObjectMeta(), 0)
    if reference is not None and reference.kind != _NODE:
        found = owners.top(meta.namespace, reference)
        if found is None:
            return None
        owner = found
    if key := meta.labels.get(_LWS_GROUP):
        size = _size(meta.annotations.get(_LWS_SIZE, ""))
        return Origin(_uid(meta.namespace, "replica", key), None, size, True, owner.warning, owner.chain)
    if reference is None or reference.kind in _EACH_FOR_ITSELF:
        serves = reference is not None and reference.kind in _SERVES
        return Origin(meta.uid, None, 1, serves, owner.warning, owner.chain)
    uid = _uid(meta.namespace, "owner", owner.metadata.uid)
    return Origin(uid, owner.metadata, owner.gang or 1, False, owner.warning, owner.chain)


def derived_row(
    origin: Origin, pods: Sequence[Pod], priorities: Priorities, config: SnapshotScope, warnings: list[str]
) -> pb.PodGroup:
    """The row of a derived pod group. `pods` is not empty; the oldest pod sets the values."""
    speaker = min(
        pods, key=lambda pod: (timestamp(pod.metadata.creation_timestamp).ToNanoseconds(), pod.metadata.uid)
    )
    owner = origin.owner or ObjectMeta()
    created = owner.creation_timestamp or speaker.metadata.creation_timestamp
    places = [*map(place_of, origin.chain), Place(speaker.metadata)]
    annotations = annotations_of(places)
    row = pb.PodGroup(
        uid=origin.uid,
        name=owner.name or speaker.metadata.name,
        namespace=speaker.metadata.namespace,
        queue=queue_of(places) or config.default_queue,
        priority=_priority(origin, places, speaker, pods, priorities, warnings),
        creation_time=timestamp(created),
        min_member=count(origin.gang),
        preemption_delay=not_negative(read_duration(annotations.get(names.PREEMPTION_DELAY, "0"))),
    )
    read_preemptibility(row, places, warnings)
    read_durations(row, annotations)
    if origin.warning:
        warnings.append(origin.warning)
    return row


def _uid(*of: str) -> str:
    """A stable uid that no object has: those are hex digits and hyphens."""
    return f"derived-{sha256(_ENCODE(of)).hexdigest()[:_UID_LENGTH]}"


def _priority(
    origin: Origin,
    places: Sequence[Place],
    pod: Pod,
    pods: Sequence[Pod],
    priorities: Priorities,
    warnings: list[str],
) -> int:
    """Priority by the first existing class of owners and pod, else by the class of the pods (semantics R8.3).

    What users write counts if it is permitted. Pods with a class have the priority that the API server set.
    """
    wishes = [name for name in priority_classes_of(places) if priorities.permits(name, warnings)]
    wish = next((name for name in wishes if name in priorities.values), "")
    resolved = None if wish else priorities.of_pods(pods)
    if resolved is not None:
        return resolved
    default = _SERVING_CLASS if origin.serves else _TRAINING_CLASS
    last = [default] if default in priorities.values else []
    return priorities.first_of([*wishes, *last, *filter(None, [pod.spec.priority_class_name])], warnings)


def _size(text: str) -> int:
    return max(int(text), 1) if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS else 1


_MOST_DIGITS: Final = 6


def have_all_ended(pods: Iterable[Pod], ended: Iterable[str]) -> bool:
    """Whether all pods have ended."""
    phases = frozenset(ended)
    return all(pod.status.phase in phases for pod in pods)
