"""Patches: what to write into the stored fields of a pod group."""

from typing import Final

from tenure.codec.encoding_cache import EncodingCache
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2
from tenure.wire.timestamps import span
from tenure.wire.writer import message, number, serialize_message, tag

_POD_GROUP: Final = tag(pb.Patch, "pod_group")
_FIELDS: Final = {kind: tag(pb.Patch, kind.name.lower()) for kind in PatchKind}
"""The field of each kind has its name."""
_COUNT: Final = PatchKind.EVICTION_COUNT
_SET_EVICTION_RECORD: Final = PatchKind.SET_EVICTION_RECORD
_DELETE_EVICTION_RECORD: Final = PatchKind.DELETE_EVICTION_RECORD
_CLEAR: Final = PatchKind.CLEAR_STALE_SINCE
_TOTAL_EVICTION_WAIT: Final = PatchKind.TOTAL_EVICTION_WAIT
"""Kinds by names that are not looked up for every patch."""
_VICTIM: Final = tag(snapshot_pb2.EvictionRecord, "victim")
_PREEMPTOR: Final = tag(snapshot_pb2.EvictionRecord, "preemptor")
_LAST_EVICTION: Final = tag(snapshot_pb2.EvictionRecord, "last_eviction_time")
_CONSECUTIVE_FAILURES: Final = tag(snapshot_pb2.EvictionRecord, "consecutive_failures")
_LAST_FAILURE: Final = tag(snapshot_pb2.EvictionRecord, "last_failure_time")
_RESULT_PENDING: Final = tag(snapshot_pb2.EvictionRecord, "result_pending")


def encode_patch(cache: EncodingCache, patch: Patch) -> bytes:
    """The message of a patch."""
    pod_group = cache.pod_group(patch.pod_group).encoded
    return message([_POD_GROUP, pod_group, _FIELDS[patch.kind], _change(cache, patch)])


def _change(cache: EncodingCache, patch: Patch) -> bytes:
    """What is written: a time, but for a few kinds."""
    kind = patch.kind
    if kind is _COUNT:
        return number(patch.value)
    if kind is _SET_EVICTION_RECORD:
        assert patch.record is not None
        return _eviction_record(cache, patch.record)
    if kind is _DELETE_EVICTION_RECORD:
        return cache.pod_group(patch.value).encoded
    if kind is _CLEAR:
        return number(True)
    return serialize_message(span(patch.value)) if kind is _TOTAL_EVICTION_WAIT else cache.moment(patch.value)


def _eviction_record(cache: EncodingCache, record: EvictionRecord) -> bytes:
    fields = [_VICTIM, cache.pod_group(record.victim).encoded]
    fields += [_PREEMPTOR, cache.pod_group(record.preemptor).encoded]
    fields += [_LAST_EVICTION, cache.moment(record.last_eviction)]
    fields += [
        _CONSECUTIVE_FAILURES,
        number(record.consecutive_failures),
        _RESULT_PENDING,
        number(record.result_pending),
    ]
    if record.last_failure is not None:
        fields += [_LAST_FAILURE, cache.moment(record.last_failure)]
    return message(fields)
