"""Rows of pod groups that can have none of their own, for their pods on nodes.

Such a row requests the most: what its pod group was given, else the quota of its queue, limits that
(semantics R8.40, R8.41). So nothing within the quota is evicted for a fault of an object, its deletion, or a
fault of the adapter, and what its owner writes does not keep what other queues lent it. It is never stale:
what it needs, and how long it may lack that, is unknown.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from google.protobuf.duration_pb2 import Duration
from tenure.kubernetes.api.object_cache import Unreadable
from tenure.kubernetes.objects import kai, native, volcano
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.times import timestamp
from tenure.kubernetes.observe.derived_pod_groups import Origin
from tenure.kubernetes.observe.pod_group_rows import VOLCANO_DEFAULT_QUEUE
from tenure.kubernetes.observe.snapshot_scope import Priorities
from tenure.kubernetes.observe.wishes import Place, place_of, priority_classes_of, queue_of
from tenure.v1 import snapshot_pb2 as pb

PodGroupObject = kai.PodGroup | volcano.PodGroup | native.PodGroup
_NEVER_STALE: Final = Duration(seconds=-1)


class _Spec(msgspec.Struct, rename="camel"):
    queue: str = ""
    priority_class_name: str = ""


class _Spoken(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_SPECS: Final = msgspec.json.Decoder(_Spoken)


def stand_in_row(
    uid: str, meta: ObjectMeta, places: Sequence[Place], pods: Sequence[Pod], priorities: Priorities
) -> pb.PodGroup:
    """The row without a queue, and without what was given. `meta` is that of the object, else of a pod."""
    return pb.PodGroup(
        uid=uid,
        name=meta.name,
        namespace=meta.namespace,
        priority=_priority(places, pods, priorities),
        creation_time=timestamp(meta.creation_timestamp),
        preemptibility=pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
        staleness_grace_period=_NEVER_STALE,
    )


def place_of_object(item: PodGroupObject | Unreadable) -> Place:
    """Where an object says its queue and priority class, as far as they are readable."""
    meta = item.metadata
    if isinstance(item, native.PodGroup):
        return Place(meta, priority_class=item.spec.priority_class_name)
    spec = _readable_spec(item) if isinstance(item, Unreadable) else item.spec
    default = VOLCANO_DEFAULT_QUEUE if isinstance(item, volcano.PodGroup) else ""
    queue = spec.queue or queue_of([Place(meta)]) or default
    return Place(meta, priority_class=spec.priority_class_name, queue=queue)


def places_of(own: Place | None, origin: Origin | None, pods: Sequence[Pod]) -> list[Place]:
    """Where a queue and a priority class may be written: the object, else owners, then the oldest pod."""
    chain = () if origin is None else origin.chain
    oldest = [] if not pods else [Place(oldest_of(pods).metadata)]
    return [*([] if own is None else [own]), *map(place_of, chain), *oldest]


def oldest_of(pods: Sequence[Pod]) -> Pod:
    """The oldest of at least one pod."""
    return min(pods, key=lambda pod: (str(pod.metadata.creation_timestamp or ""), pod.metadata.uid))


def _readable_spec(item: Unreadable) -> _Spec:
    try:
        return _SPECS.decode(item.item).spec
    except msgspec.DecodeError:
        return _Spec()


def _priority(places: Sequence[Place], pods: Sequence[Pod], priorities: Priorities) -> int:
    """Priority by the first class that is written, exists and is permitted, else by the class of the pods."""
    classes = [name for name in priority_classes_of(places) if name in priorities.values]
    permitted = next((name for name in classes if priorities.permits(name, [])), "")
    of_pods = None if permitted else priorities.of_pods(pods)
    return priorities.of_class(permitted, []) if of_pods is None else of_pods
