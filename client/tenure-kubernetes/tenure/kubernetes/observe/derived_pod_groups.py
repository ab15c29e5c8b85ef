"""Pod groups of pods that name none: derived from who owns them, as the field's pod groupers do.

no owner, ReplicaSet, StatefulSet, ...   each pod for itself
leader and workers (LeaderWorkerSet)     each replica as a gang of its size
any other owner (Job, JobSet, PyTorchJob, RayCluster, ...)   one pod group for the top owner, a gang where
                                         it says how many pods must run together, else one pod starts it

What a pod says about owners and replicas is not to be trusted beyond its namespace: whoever makes pods writes
it. So it is no uid of a pod group, but part of one, together with the namespace.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.owners import OwnerLookup
from tenure.kubernetes.observe.pod_group_rows import count, not_negative, read_annotations
from tenure.kubernetes.observe.snapshot_scope import Priorities, SnapshotScope
from tenure.kubernetes.observe.times import read_duration, timestamp
from tenure.v1 import snapshot_pb2 as pb

_EACH_FOR_ITSELF: Final = frozenset(
    ("ReplicaSet", "ReplicationController", "StatefulSet", "Deployment", "DaemonSet", "Node")
)
"""Kinds of owners whose pods serve independently of each other."""
_ENCODE: Final = msgspec.json.Encoder().encode
_LWS_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-key"
_LWS_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
_SERVES: Final = frozenset(("ReplicaSet", "ReplicationController", "StatefulSet", "Deployment"))
_UID_LENGTH: Final = 32
"""Hex digits in the uid of a derived pod group: as many as a uid of Kubernetes has."""
_SERVING_CLASS: Final = "inference"
_TRAINING_CLASS: Final = "train"
"""Classes of those that name none, where these exist (semantics R1.81, R8.3)."""


class Origin(NamedTuple):
    """Where a derived pod group comes from."""

    uid: str
    """Of its only pod, or one that no object has."""
    owner: ObjectMeta | None
    """None: its pods alone tell."""
    gang: int
    serves: bool
    warning: str = ""
    """What is not known of its owner yet; empty: all is known."""


def origin_of(pod: Pod, owners: OwnerLookup) -> Origin | None:
    """The pod group a pod belongs to; None: its owner cannot be looked up just now."""
    meta = pod.metadata
    if key := meta.labels.get(_LWS_GROUP):
        size = _size(meta.annotations.get(_LWS_SIZE, ""))
        return Origin(_uid(meta.namespace, "replica", key), None, size, serves=True)
    reference = meta.owner()
    if reference is None or reference.kind in _EACH_FOR_ITSELF:
        return Origin(meta.uid, None, 1, reference is not None and reference.kind in _SERVES)
    owner = owners.top(meta.namespace, reference)
    if owner is None:
        return None
    uid = _uid(meta.namespace, "owner", owner.metadata.uid)
    return Origin(uid, owner.metadata, owner.gang or 1, serves=False, warning=owner.warning)


def derived_row(
    origin: Origin, pods: Sequence[Pod], priorities: Priorities, config: SnapshotScope, warnings: list[str]
) -> pb.PodGroup:
    """The row of a derived pod group. `pods` is not empty; the oldest speaks for all."""
    speaker = min(
        pods, key=lambda pod: (timestamp(pod.metadata.creation_timestamp).ToNanoseconds(), pod.metadata.uid)
    )
    owner = origin.owner or ObjectMeta()
    created = owner.creation_timestamp or speaker.metadata.creation_timestamp
    labels = {**speaker.metadata.labels, **owner.labels}
    annotations = {**speaker.metadata.annotations, **owner.annotations}
    row = pb.PodGroup(
        uid=origin.uid,
        name=owner.name or speaker.metadata.name,
        namespace=speaker.metadata.namespace,
        queue=_first(names.QUEUE, labels) or annotations.get(names.VOLCANO_QUEUE) or config.default_queue,
        priority=_priority(origin, owner, speaker, priorities, warnings),
        creation_time=timestamp(created),
        min_member=count(origin.gang),
        preemption_delay=not_negative(read_duration(annotations.get(names.PREEMPTION_DELAY, "0"))),
    )
    read_annotations(row, annotations, warnings)
    if origin.warning:
        warnings.append(origin.warning)
    if names.PREEMPTIBILITY in labels:
        row.annotations[names.PREEMPTIBILITY] = labels[names.PREEMPTIBILITY]
    return row


def _uid(*of: str) -> str:
    """A uid that is always the same for these, and that of no object: theirs are hex digits and hyphens."""
    return f"derived-{sha256(_ENCODE(of)).hexdigest()[:_UID_LENGTH]}"


def _first(key: str, *places: Mapping[str, str]) -> str:
    return next((place[key] for place in places if place.get(key)), "")


def _priority(
    origin: Origin, owner: ObjectMeta, pod: Pod, priorities: Priorities, warnings: list[str]
) -> int:
    """Label of the owner, label of the pod, the pod itself, whichever exists first (semantics R8.3)."""
    said = (
        owner.labels.get(names.PRIORITY_CLASS, ""),
        pod.metadata.labels.get(names.PRIORITY_CLASS, ""),
        pod.spec.priority_class_name,
    )
    default = _SERVING_CLASS if origin.serves else _TRAINING_CLASS
    known = next((name for name in (*said, default) if name in priorities.values), "")
    if not known and any(said):
        return priorities.of_class(next(filter(None, said)), warnings)
    return priorities.of_class(known, warnings)


def _size(text: str) -> int:
    return max(int(text), 1) if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS else 1


_MOST_DIGITS: Final = 6


def have_all_ended(pods: Iterable[Pod], ended: Iterable[str]) -> bool:
    """Whether no pod will run any more."""
    phases = frozenset(ended)
    return all(pod.status.phase in phases for pod in pods)
