"""Encode patches: changes of stored fields of pod groups, and eviction records."""

from typing import Final

from tenure.codec.encoding_cache import NO_SUBJECT, EncodingCache
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.grant import Grant
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2
from tenure.wire.timestamps import span
from tenure.wire.writer import message, number, scalar, serialize_message, tag

_PATCHED: Final = tag(pb.Patch, "pod_group")
_PATCH_FIELDS: Final = {kind: tag(pb.Patch, kind.name.lower()) for kind in PatchKind}
"""Each kind has the name of its field."""
_NUMBERS: Final = (PatchKind.EVICTION_COUNT, PatchKind.EVICTIONS_WITHOUT_PROGRESS, PatchKind.HELD_BY)
_SET_EVICTION_RECORD: Final = PatchKind.SET_EVICTION_RECORD
_DELETE_EVICTION_RECORD: Final = PatchKind.DELETE_EVICTION_RECORD
_CLEAR: Final = PatchKind.CLEAR_STALE_SINCE
_EVICTIONS: Final = PatchKind.EVICTIONS
_BACKFILL_FOR: Final = PatchKind.BACKFILL_FOR
_TOTAL_EVICTION_WAIT: Final = PatchKind.TOTAL_EVICTION_WAIT
_GRANT: Final = PatchKind.GRANT
"""Members of the enum, so that they are not looked up for every patch."""
_VICTIM: Final = tag(snapshot_pb2.EvictionRecord, "victim")
_PREEMPTOR: Final = tag(snapshot_pb2.EvictionRecord, "preemptor")
_LAST_EVICTION: Final = tag(snapshot_pb2.EvictionRecord, "last_eviction_time")
_CONSECUTIVE_FAILURES: Final = tag(snapshot_pb2.EvictionRecord, "consecutive_failures")
_LAST_FAILURE: Final = tag(snapshot_pb2.EvictionRecord, "last_failure_time")
_RESULT_PENDING: Final = tag(snapshot_pb2.EvictionRecord, "result_pending")


def encode_patch(cache: EncodingCache, patch: Patch) -> bytes:
    """Change of a stored field of a pod group."""
    pod_group = cache.pod_group(patch.pod_group).encoded
    return message([_PATCHED, pod_group, _PATCH_FIELDS[patch.kind], _change(cache, patch)])


def _change(cache: EncodingCache, patch: Patch) -> bytes:
    """New value: a time, except for a few kinds."""
    kind = patch.kind
    if kind in _NUMBERS:
        return number(patch.value)
    if kind is _SET_EVICTION_RECORD:
        assert patch.record is not None
        return _eviction_record(cache, patch.record)
    if kind is _DELETE_EVICTION_RECORD:
        return cache.pod_group(patch.value).encoded
    if kind is _CLEAR:
        return number(True)
    if kind is _EVICTIONS:
        return serialize_message(snapshot_pb2.EvictionCounts(by_cause=patch.counts))
    if kind is _BACKFILL_FOR:
        return serialize_message(snapshot_pb2.BackfillOwners(pod_groups=sorted(patch.counts)))
    if kind is _GRANT:
        assert patch.grant is not None
        return serialize_message(_grant(patch.grant))
    return serialize_message(span(patch.value)) if kind is _TOTAL_EVICTION_WAIT else cache.moment(patch.value)


def _grant(grant: Grant) -> snapshot_pb2.Grant:
    made = snapshot_pb2.Grant(
        queue=grant.queue,
        preemptibility=f"PREEMPTIBILITY_{grant.preemptibility.name}",
        opt_out_actions=sorted(grant.opt_out_actions),
        min_pods=grant.min_pods,
    )
    if grant.expected_runtime is not None:
        made.expected_runtime.CopyFrom(span(grant.expected_runtime))
    return made


def _eviction_record(cache: EncodingCache, record: EvictionRecord) -> bytes:
    fields = [_VICTIM, cache.pod_group(record.victim).encoded]
    fields += [_PREEMPTOR, cache.pod_group(record.preemptor).encoded]
    fields += [_LAST_EVICTION, cache.moment(record.last_eviction)]
    fields.append(scalar(_CONSECUTIVE_FAILURES, number(record.consecutive_failures)))
    if record.last_failure is not None:
        fields += [_LAST_FAILURE, cache.moment(record.last_failure)]
    fields.append(scalar(_RESULT_PENDING, number(record.result_pending)))
    return message(fields)


def preemptor_of(cache: EncodingCache, patch: Patch) -> str:
    """Preemptor of the eviction record that a patch changes, quoted.

    It is part of the ID of the decision, since a group can have several such patches.
    """
    if patch.record is not None:
        return cache.pod_group(patch.record.preemptor).quoted
    return cache.pod_group(patch.value).quoted if patch.kind is _DELETE_EVICTION_RECORD else NO_SUBJECT
