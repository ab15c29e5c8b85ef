"""Patches: what to write into the stored fields of a pod group."""

from tenure.server.codec.times import span, timestamp
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.model.memory import EvictionMemory
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import snapshot_pb2


def encode_patch(cluster: Cluster, patch: Patch) -> pb.Patch:
    """The message of a patch; its field has the name of the kind."""
    message = pb.Patch(pod_group=cluster.pod_groups[patch.pod_group].uid)
    field = patch.kind.name.lower()
    match patch.kind:
        case PatchKind.CLEAR_STALE_SINCE:
            message.clear_stale_since = True
        case PatchKind.EVICTION_COUNT:
            message.eviction_count = patch.value
        case PatchKind.WAITED_AFTER_EVICTIONS:
            message.waited_after_evictions.CopyFrom(span(patch.value))
        case PatchKind.REMEMBER:
            assert patch.memory is not None
            message.remember.CopyFrom(_memory(cluster, patch.memory))
        case PatchKind.FORGET_PREEMPTOR:
            message.forget_preemptor = cluster.pod_groups[patch.value].uid
        case _:
            getattr(message, field).CopyFrom(timestamp(patch.value))
    return message


def _memory(cluster: Cluster, memory: EvictionMemory) -> snapshot_pb2.EvictionMemory:
    failed = memory.last_failure
    return snapshot_pb2.EvictionMemory(
        victim=cluster.pod_groups[memory.victim].uid,
        preemptor=cluster.pod_groups[memory.preemptor].uid,
        last_eviction_time=timestamp(memory.last_eviction),
        failures=memory.failures,
        last_failure_time=None if failed is None else timestamp(failed),
        unsettled=memory.unsettled,
    )
