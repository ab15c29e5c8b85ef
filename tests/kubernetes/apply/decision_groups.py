"""Decision groups as a server returns them."""

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.apply.events import AdapterIdentity
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import EvictionRecord

NOW = Timestamp(seconds=1_800_000_000)
LEASE = ObjectReference("coordination.k8s.io/v1", "Lease", "tenure-system", "tenure", "")
IDENTITY = AdapterIdentity("", "test", LEASE)


def now() -> Timestamp:
    return NOW


def bind(pod: str, node: str = "n1", gpu_groups: tuple[str, ...] = ()) -> pb.Decision:
    step = pb.Bind(pod=f"uid-{pod}", node=node, gpu_groups=gpu_groups)
    return pb.Decision(id=f"bind-{pod}", bind=step)


def evict(pod: str, node: str = "n1", victim: str = "victim") -> pb.Decision:
    step = pb.Evict(pod=f"uid-{pod}", node=node, pod_group=victim, preemptor="winner")
    return pb.Decision(id=f"evict-{pod}", evict=step)


def reserve(pod: str, node: str = "n1") -> pb.Decision:
    return pb.Decision(id=f"hold-{pod}", reserve=pb.Reserve(pod=f"uid-{pod}", node=node, pod_group="winner"))


def set_eviction_record(victim: str = "victim", preemptor: str = "winner") -> pb.Decision:
    memory = EvictionRecord(victim=victim, preemptor=preemptor, last_eviction_time=NOW, result_pending=True)
    return pb.Decision(id=f"remember-{victim}", patch=pb.Patch(pod_group=victim, set_eviction_record=memory))


def set_last_eviction(victim: str = "victim") -> pb.Decision:
    return pb.Decision(id=f"evicted-{victim}", patch=pb.Patch(pod_group=victim, last_eviction_time=NOW))


def group(
    *decisions: pb.Decision, id: str = "g", best_effort: bool = False, seconds: int = 300
) -> pb.DecisionGroup:
    """A group that expires after this number of seconds."""
    atomicity = pb.ATOMICITY_BEST_EFFORT if best_effort else pb.ATOMICITY_ALL
    made = pb.DecisionGroup(
        id=id, action="preempt", beneficiary="winner", decisions=decisions, atomicity=atomicity
    )
    made.expire_time.seconds = NOW.seconds + seconds
    return made
