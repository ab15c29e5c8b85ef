"""A small cluster and a sound response to it, in which tests change one thing at a time.

The cluster has two nodes of four GPUs. In queue `b` the gang `old` runs on node `n1` and exceeds the quota of
`b`. In queue `a` the gang `new` reclaims these GPUs. `small` is bound to node `n2`, where the elastic pod
group `stretch` of queue `b` runs.
"""

from tenure.v1 import decide_pb2, decision_pb2, resources_pb2, snapshot_pb2

GIB = 1 << 30
NOW_S = 1_000_000
PENDING = snapshot_pb2.POD_STATUS_PENDING
RUNNING = snapshot_pb2.POD_STATUS_RUNNING


def snapshot() -> snapshot_pb2.ClusterSnapshot:
    """Build the snapshot."""
    message = snapshot_pb2.ClusterSnapshot(
        cluster_id="small",
        version=1,
        nodes=[_node("n1"), _node("n2")],
        queues=[_queue("org", "", 8000), _queue("a", "org", 5000), _queue("b", "org", 2000)],
        pod_groups=[
            _pod_group("old", "b", 50, 2),
            _pod_group("stretch", "b", 50, 1),
            _pod_group("new", "a", 70, 2),
            _pod_group("small", "a", 60, 1),
        ],
        pods=[
            *(_pod(f"old-{i}", "old", "pair", RUNNING, "n1") for i in range(2)),
            *(_pod(f"stretch-{i}", "stretch", "one", RUNNING, "n2") for i in range(2)),
            *(_pod(f"new-{i}", "new", "pair", PENDING) for i in range(2)),
            _pod("small-0", "small", "one", PENDING),
        ],
        shapes=[_shape("pair", 2), _shape("one", 1)],
    )
    message.now.FromSeconds(NOW_S)
    return message


def response() -> decide_pb2.DecideResponse:
    """Build the response."""
    return decide_pb2.DecideResponse(
        groups=[
            _group("g1", "allocate", "small", bind("small-0", "n2"), patch("small", "last_start_time")),
            _group(
                "g2",
                "reclaim",
                "new",
                evict("old-0", "n1", "new"),
                evict("old-1", "n1", "new"),
                reserve("new-0", "n1"),
                reserve("new-1", "n1"),
                patch("old", "last_eviction_time"),
                count("old", 1),
                set_eviction_record("old", "new"),
            ),
        ],
        outcomes=[
            outcome("new", decision_pb2.OUTCOME_KIND_WAITING_FOR_VICTIMS, reserved=2),
            outcome("small", decision_pb2.OUTCOME_KIND_BOUND, bound=1),
        ],
    )


def bind(pod: str, node: str, *gpu_groups: str) -> decision_pb2.Decision:
    """Build a bind decision; its id contains the pod."""
    return decision_pb2.Decision(
        id=f"bind-{pod}", bind=decision_pb2.Bind(pod=pod, node=node, gpu_groups=gpu_groups)
    )


def reserve(pod: str, node: str, *gpu_groups: str) -> decision_pb2.Decision:
    """Build a reserve decision."""
    return decision_pb2.Decision(
        id=f"hold-{pod}", reserve=decision_pb2.Reserve(pod=pod, node=node, gpu_groups=gpu_groups)
    )


def evict(
    pod: str, node: str, beneficiary: str, moves: bool = False, guards: tuple[str, ...] = ("preemptibility",)
) -> decision_pb2.Decision:
    """Build an evict decision with a verdict of each of these guards that allows it."""
    checks = [decision_pb2.GuardVerdict(guard=guard) for guard in guards]
    step = decision_pb2.Evict(pod=pod, node=node, preemptor=beneficiary, relocating=moves, guards=checks)
    return decision_pb2.Decision(id=f"evict-{pod}", evict=step)


def patch(pod_group: str, field: str) -> decision_pb2.Decision:
    """Build a patch that sets a field to the time of the snapshot."""
    step = decision_pb2.Patch(pod_group=pod_group)
    getattr(step, field).FromSeconds(NOW_S)
    return decision_pb2.Decision(id=f"patch-{pod_group}", patch=step)


def count(pod_group: str, evictions: int) -> decision_pb2.Decision:
    """Build a patch of the eviction count of a pod group."""
    step = decision_pb2.Patch(pod_group=pod_group, eviction_count=evictions)
    return decision_pb2.Decision(id=f"count-{pod_group}", patch=step)


def without_progress(pod_group: str, evictions: int) -> decision_pb2.Decision:
    """Build a patch of the evictions without progress of a pod group."""
    step = decision_pb2.Patch(pod_group=pod_group, evictions_without_progress=evictions)
    return decision_pb2.Decision(id=f"progress-{pod_group}", patch=step)


def set_eviction_record(victim: str, preemptor: str, result_pending: bool = True) -> decision_pb2.Decision:
    """Build a patch that stores an eviction record with the time of the snapshot."""
    memory = snapshot_pb2.EvictionRecord(victim=victim, preemptor=preemptor, result_pending=result_pending)
    memory.last_eviction_time.FromSeconds(NOW_S)
    step = decision_pb2.Patch(pod_group=victim, set_eviction_record=memory)
    return decision_pb2.Decision(id=f"remember-{victim}-{preemptor}", patch=step)


def outcome(
    pod_group: str, kind: decision_pb2.OutcomeKind, bound: int = 0, reserved: int = 0, pending: int = 0
) -> decision_pb2.PodGroupOutcome:
    """Build an outcome with a fixed reason."""
    reason = decision_pb2.Reason(code=decision_pb2.REASON_CODE_ALLOCATED, message="because")
    return decision_pb2.PodGroupOutcome(
        pod_group=pod_group, kind=kind, reason=reason, bound=bound, reserved=reserved, pending=pending
    )


def _node(name: str) -> snapshot_pb2.Node:
    total = resources_pb2.Resources(cpu_milli=8000, memory_bytes=8 * GIB, gpu_milli=4000, pods=10)
    return snapshot_pb2.Node(name=name, labels={"zone": name}, allocatable=total, gpu_memory_mib=1000)


def _queue(name: str, parent: str, gpu_quota_milli: int) -> snapshot_pb2.Queue:
    return snapshot_pb2.Queue(
        name=name, parent=parent, gpu_milli=snapshot_pb2.QueueResource(quota=gpu_quota_milli, limit=-1)
    )


def _pod_group(uid: str, queue: str, priority: int, min_member: int) -> snapshot_pb2.PodGroup:
    return snapshot_pb2.PodGroup(uid=uid, name=uid, queue=queue, priority=priority, min_member=min_member)


def _pod(
    uid: str, group: str, shape: str, status: snapshot_pb2.PodStatus, node: str = ""
) -> snapshot_pb2.Pod:
    return snapshot_pb2.Pod(uid=uid, name=uid, pod_group=group, shape=shape, status=status, node=node)


def _shape(name: str, devices: int) -> snapshot_pb2.PodShape:
    return snapshot_pb2.PodShape(
        id=name,
        requests=resources_pb2.Resources(cpu_milli=1000, memory_bytes=GIB),
        gpu=resources_pb2.GpuRequest(devices=devices),
    )


def _group(
    uid: str, action: str, beneficiary: str, *steps: decision_pb2.Decision
) -> decision_pb2.DecisionGroup:
    return decision_pb2.DecisionGroup(id=uid, action=action, beneficiary=beneficiary, decisions=steps)
