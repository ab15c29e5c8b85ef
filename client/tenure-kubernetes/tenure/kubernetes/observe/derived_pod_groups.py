"""Pod groups of pods that name none, derived from their owners as pod groupers do.

The table of kinds says which pods are together, and how many of them are a gang (`owners.kinds`).

Users write the owner and replica labels of a pod, so they are not trusted beyond its namespace. They are only
part of the uid of a pod group, together with the namespace.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.times import timestamp
from tenure.kubernetes.observe.annotations.fields import COSTS, read_fields
from tenure.kubernetes.observe.pod_group_rows import (
    Levels,
    UnusablePodGroup,
    constraint_in,
    constraint_texts,
    count,
    read_spans,
)
from tenure.kubernetes.observe.snapshot_scope import Priorities, SnapshotScope
from tenure.kubernetes.observe.wishes import (
    Place,
    annotations_of,
    place_of,
    priority_classes_of,
    queue_of_workload,
    read_durations,
    read_preemptibility,
)
from tenure.kubernetes.owners.chains import Owner, OwnerLookup
from tenure.kubernetes.owners.gangs import (
    NO_GANG,
    OTHERS,
    Gang,
    MemberPod,
    gang_of,
    needed_of,
    role_of,
    with_pods_annotation,
)
from tenure.kubernetes.owners.kinds import TRAINING_CLASS, Grouping, OwnerKind
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.kubernetes.rows.pods import ENDED, SUCCEEDED
from tenure.v1 import snapshot_pb2 as pb

_NODE: Final = "Node"
"""Owner of static pods, on which users do not write."""
_ENCODE: Final = msgspec.json.Encoder().encode
_UID_LENGTH: Final = 32
"""Hex digits in the uid of a derived pod group; a Kubernetes uid has as many."""


class Origin(NamedTuple):
    """Origin of a derived pod group."""

    uid: str
    """Uid of its only pod, or a digest."""
    owner: ObjectMeta | None
    """The owner that the pod group stands for; None: it stands for its pods."""
    kind: OwnerKind | None
    """The row of that owner in the table of kinds; None: there is none."""
    gang: Gang
    warnings: tuple[str, ...] = ()
    """What is unknown about the owner."""
    is_retried: bool = False
    """Whether the owner is read again later, because an owner could not be read."""
    chain: tuple[OwnerObject, ...] = ()
    """Owners on which users write, the first one that counts first."""
    unread: str = ""
    """Which owner may not be read, and why; "": none."""

    def role(self, pod: Pod) -> str:
        """The role of a pod in the gang."""
        return OTHERS if self.kind is None else role_of(self.kind, self.gang, pod.metadata.labels)


def origin_of(pod: Pod, owners: OwnerLookup) -> Origin | None:
    """Origin of the pod group of a pod; None: its owner cannot be looked up for now."""
    meta, reference = pod.metadata, pod.metadata.owner()
    owner = None
    if reference is not None and reference.kind != _NODE:
        owner = owners.top(meta.namespace, reference)
        if owner is None:
            return None
    if (by_label := owners.kinds.by_label(meta.labels)) is not None:
        origin = _origin_by_label(pod, by_label, owner)
    elif owner is None or not _is_one_pod_group(owner):
        origin = Origin(meta.uid, None, owner.kind if owner else None, NO_GANG)
    else:
        uid = _uid(meta.namespace, "owner", owner.metadata.uid)
        origin = Origin(uid, owner.metadata, owner.kind, owner.gang)
    if owner is None:
        return origin
    return origin._replace(
        warnings=owner.warnings, is_retried=owner.is_retried, chain=owner.chain, unread=owner.unread
    )


def names_queue(origin: Origin, pod: Pod, node_pool: str) -> bool:
    """Whether an owner that could be read, or the pod, names a queue."""
    return bool(queue_of_workload([*map(place_of, origin.chain), Place(pod.metadata)], node_pool))


def _is_one_pod_group(owner: Owner) -> bool:
    """Whether all pods of an owner are one pod group: also independent ones that are to be in one domain.

    Alone, each pod would be in a domain of its own.
    """
    if owner.grouping is not Grouping.POD or owner.kind is None or owner.kind.pod_group is not Grouping.POD:
        return owner.grouping is Grouping.OWNER
    stated = annotations_of([place_of(one) for one in owner.chain])
    levels = (names.TOPOLOGY_REQUIRED, names.TOPOLOGY_PREFERRED)
    return bool(stated.get(names.TOPOLOGY)) and any(stated.get(key) for key in levels)


def _origin_by_label(pod: Pod, kind: OwnerKind, owner: Owner | None) -> Origin:
    """Origin of a pod whose label says which pods are its pod group."""
    meta = pod.metadata
    is_owner = owner is not None and owner.is_known and owner.kind is kind
    gang = owner.gang if owner is not None and is_owner else gang_of(kind, None, [])
    uid = _uid(meta.namespace, "replica", meta.labels[kind.label])
    return Origin(uid, None, kind, with_pods_annotation(kind, gang, meta.annotations))


def derived_row(
    origin: Origin,
    pods: Sequence[Pod],
    priorities: Priorities,
    levels: Levels,
    config: SnapshotScope,
    warnings: list[str],
) -> pb.PodGroup:
    """The row of a derived pod group; the oldest pod sets the values. Without pods there is an owner.

    Raises UnusablePodGroup.
    """
    speaker = min(
        pods,
        key=lambda pod: (timestamp(pod.metadata.creation_timestamp).ToNanoseconds(), pod.metadata.uid),
        default=Pod(),
    )
    _check_topologies(origin, speaker, pods)
    owner = origin.owner or ObjectMeta()
    created = owner.creation_timestamp or speaker.metadata.creation_timestamp
    places = [*map(place_of, origin.chain), Place(speaker.metadata)]
    annotations = annotations_of(places)
    row = pb.PodGroup(
        uid=origin.uid,
        name=owner.name or speaker.metadata.name,
        namespace=speaker.metadata.namespace or owner.namespace,
        queue=queue_of_workload(places, config.node_pool) or config.default_queue,
        priority=_priority(origin, places, speaker, pods, priorities, warnings),
        creation_time=timestamp(created),
        topology_constraint=constraint_in(annotations, levels),
        never_evicts=priorities.never_evicts(priority_classes_of(places), pods),
    )
    _set_needed(row, origin, pods)
    read_spans(row, annotations, warnings)
    read_preemptibility(row, places, warnings)
    read_durations(row, annotations)
    read_fields(row, COSTS, annotations, warnings)
    warnings.extend(origin.warnings)
    return row


def _check_topologies(origin: Origin, speaker: Pod, pods: Iterable[Pod]) -> None:
    """Raise UnusablePodGroup if pods that wait state another topology constraint than the one that counts.

    Such as the workers of a gang, but not its master: a pod group has one constraint for all.
    """
    own = constraint_texts(speaker.metadata.annotations)
    waiting = (pod.metadata for pod in pods if not pod.spec.node_name and pod.status.phase not in ENDED)
    others = [meta for meta in waiting if constraint_texts(meta.annotations) != own]
    if not others:
        return
    owners = [*map(place_of, origin.chain)]
    counts = constraint_texts(annotations_of([*owners, Place(speaker.metadata)]))
    if any(constraint_texts(annotations_of([*owners, Place(meta)])) != counts for meta in others):
        raise UnusablePodGroup(
            "its pods state different topology constraints: write a pod group with a subgroup for each"
        )


def _set_needed(row: pb.PodGroup, origin: Origin, pods: Sequence[Pod]) -> None:
    """Set the minimum of a pod group, or its subgroups."""
    members = [
        MemberPod(
            origin.role(pod),
            bool(pod.spec.node_name),
            pod.status.phase in ENDED,
            pod.status.phase == SUCCEEDED,
        )
        for pod in pods
    ]
    needed = needed_of(origin.gang, members)
    if not needed.roles:
        row.min_member = count(needed.pods)
        return
    row.sub_groups.extend(pb.SubGroup(name=role.name, min_member=role.pods) for role in needed.roles)
    if needed.min_roles is not None:
        row.min_sub_group = count(needed.min_roles)


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
    default = TRAINING_CLASS if origin.kind is None else origin.kind.class_without_another
    last = [default] if default in priorities.values else []
    return priorities.first_of([*wishes, *last, *filter(None, [pod.spec.priority_class_name])], warnings)


def have_all_ended(pods: Iterable[Pod], ended: Iterable[str]) -> bool:
    """Whether all pods have ended."""
    phases = frozenset(ended)
    return all(pod.status.phase in phases for pod in pods)
