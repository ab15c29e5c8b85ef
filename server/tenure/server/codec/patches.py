"""Patches: what to write into the stored fields of a pod group."""

from tenure.server.codec.times import set_time, span
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.memory import EvictionMemory
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2


def encode_patch(into: pb.Patch, cluster: Cluster, patch: Patch) -> None:
    """Fill in the message of a patch; its field has the name of the kind."""
    into.pod_group = cluster.pod_groups[patch.pod_group].uid
    match patch.kind:
        case PatchKind.LAST_START_TIME:
            set_time(into.last_start_time, patch.value)
        case PatchKind.LAST_EVICTION_TIME:
            set_time(into.last_eviction_time, patch.value)
        case PatchKind.STALE_SINCE:
            set_time(into.stale_since, patch.value)
        case PatchKind.CLEAR_STALE_SINCE:
            into.clear_stale_since = True
        case PatchKind.REQUEUE_NOT_BEFORE:
            set_time(into.requeue_not_before, patch.value)
        case PatchKind.EVICTION_COUNT:
            into.eviction_count = patch.value
        case PatchKind.WAITED_AFTER_EVICTIONS:
            into.waited_after_evictions.CopyFrom(span(patch.value))
        case PatchKind.REMEMBER:
            assert patch.memory is not None
            _fill_memory(into.remember, cluster, patch.memory)
        case PatchKind.FORGET_PREEMPTOR:
            into.forget_preemptor = cluster.pod_groups[patch.value].uid


def _fill_memory(into: snapshot_pb2.EvictionMemory, cluster: Cluster, memory: EvictionMemory) -> None:
    into.victim = cluster.pod_groups[memory.victim].uid
    into.preemptor = cluster.pod_groups[memory.preemptor].uid
    set_time(into.last_eviction_time, memory.last_eviction)
    into.failures = memory.failures
    if memory.last_failure is not None:
        set_time(into.last_failure_time, memory.last_failure)
    into.unsettled = memory.unsettled
