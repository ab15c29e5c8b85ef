"""Patches: what to write into the stored fields of a pod group."""

from typing import Final

from tenure.server.codec.recurring import Recurring
from tenure.server.codec.times import span
from tenure.server.codec.writing import message, number, tag, whole
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.memory import EvictionMemory
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2

_POD_GROUP: Final = tag(pb.Patch, "pod_group")
_FIELDS: Final = {kind: tag(pb.Patch, kind.name.lower()) for kind in PatchKind}
"""The field of each kind has its name."""
_COUNT: Final = PatchKind.EVICTION_COUNT
_REMEMBER: Final = PatchKind.REMEMBER
_FORGET: Final = PatchKind.FORGET_PREEMPTOR
_CLEAR: Final = PatchKind.CLEAR_STALE_SINCE
_WAITED: Final = PatchKind.WAITED_AFTER_EVICTIONS
"""Kinds by names that are not looked up for every patch."""
_VICTIM: Final = tag(snapshot_pb2.EvictionMemory, "victim")
_PREEMPTOR: Final = tag(snapshot_pb2.EvictionMemory, "preemptor")
_LAST_EVICTION: Final = tag(snapshot_pb2.EvictionMemory, "last_eviction_time")
_FAILURES: Final = tag(snapshot_pb2.EvictionMemory, "failures")
_LAST_FAILURE: Final = tag(snapshot_pb2.EvictionMemory, "last_failure_time")
_UNSETTLED: Final = tag(snapshot_pb2.EvictionMemory, "unsettled")


def encode_patch(recurring: Recurring, patch: Patch) -> bytes:
    """The message of a patch."""
    pod_group = recurring.pod_group(patch.pod_group).written
    return message([_POD_GROUP, pod_group, _FIELDS[patch.kind], _change(recurring, patch)])


def _change(recurring: Recurring, patch: Patch) -> bytes:
    """What is written: a time, but for a few kinds."""
    kind = patch.kind
    if kind is _COUNT:
        return number(patch.value)
    if kind is _REMEMBER:
        assert patch.memory is not None
        return _memory(recurring, patch.memory)
    if kind is _FORGET:
        return recurring.pod_group(patch.value).written
    if kind is _CLEAR:
        return number(True)
    return whole(span(patch.value)) if kind is _WAITED else recurring.moment(patch.value)


def _memory(recurring: Recurring, memory: EvictionMemory) -> bytes:
    fields = [_VICTIM, recurring.pod_group(memory.victim).written]
    fields += [_PREEMPTOR, recurring.pod_group(memory.preemptor).written]
    fields += [_LAST_EVICTION, recurring.moment(memory.last_eviction)]
    fields += [_FAILURES, number(memory.failures), _UNSETTLED, number(memory.unsettled)]
    if memory.last_failure is not None:
        fields += [_LAST_FAILURE, recurring.moment(memory.last_failure)]
    return message(fields)
