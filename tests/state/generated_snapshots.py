"""Generated snapshots of any size with rows of every kind, and changed versions of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.properties.generators.draw import Draw
from tests.state.generated_in_flight import add_in_flight

NOW_S: Final = 1_700_000_000
GPUS: Final = 8
SHAPES: Final = ("one", "two", "half", "cpu", "apart")
GPUS_OF: Final = {"one": 1, "two": 2, "half": 0, "cpu": 0, "apart": 1, "node": GPUS}
_Change = Callable[[Draw, pb.ClusterSnapshot], None]

LEAVES: Final = ("a1", "a2", "b1", "b2")


def generate_snapshot(draw: Draw, nodes: int, pods: int) -> pb.ClusterSnapshot:
    """A snapshot with this many nodes of eight GPUs and about this many pods, in groups of one to four."""
    snapshot = pb.ClusterSnapshot(cluster_id="made", node_pool="pool", version=1)
    snapshot.now.seconds = NOW_S
    snapshot.topologies.add(name="racks", levels=["rack"])
    for name in ("a", "b"):
        snapshot.queues.add(name=name)
    for name in LEAVES:
        _add_queue(draw, snapshot, name)
    snapshot.queues.add(name="c").gpu_milli.quota = GPUS * 1_000
    for name in (*SHAPES, "node"):
        _add_shape(snapshot, name)
    for i in range(nodes):
        _add_node(draw, snapshot, f"node-{i:05}")
    number = 0
    while len(snapshot.pods) < pods:
        add_group(draw, snapshot, f"group-{number:06}", number)
        number += 1
    _add_wide_group(snapshot)
    for _ in range(min(number // 4, 50)):
        _add_eviction_history(draw, snapshot)
    for i in range(min(number // 4, 20)):
        add_in_flight(draw, snapshot, f"promise-{i}")
    return snapshot


def generate_next_snapshot(draw: Draw, snapshot: pb.ClusterSnapshot) -> pb.ClusterSnapshot:
    """The next version, a random time later. A few rows of some lists are changed, added and removed."""
    return _later(draw, snapshot, _CHANGES)


def generate_next_workloads(draw: Draw, snapshot: pb.ClusterSnapshot) -> pb.ClusterSnapshot:
    """A later snapshot with changes of pods, pod groups and in-flight groups only."""
    return _later(draw, snapshot, _CHANGES_OF_WORKLOADS)


def _later(draw: Draw, snapshot: pb.ClusterSnapshot, changes: Sequence[_Change]) -> pb.ClusterSnapshot:
    after = pb.ClusterSnapshot()
    after.CopyFrom(snapshot)
    after.version += draw.integer(1, 3)
    after.now.seconds += draw.integer(0, 600)
    for change in changes:
        if draw.chance(50):
            change(draw, after)
    return after


def add_group(draw: Draw, snapshot: pb.ClusterSnapshot, uid: str, number: int) -> None:
    """Add a pod group with its pods, either all on one node or pending."""
    size, shape = draw.integer(1, 4), draw.choice((*SHAPES, "cpu"))
    group = snapshot.pod_groups.add(uid=uid, name=f"job-{number}", queue=draw.choice(LEAVES), min_member=1)
    group.priority = draw.choice((50, 75, 125))
    group.preemptibility = draw.choice((1, 1, 2, 3))
    group.creation_time.seconds = NOW_S - 90_000 + number
    if draw.chance(20):
        group.annotations["kai.scheduler/expected-runtime"] = draw.choice(("1h", "5m"))
    node = snapshot.nodes[number % len(snapshot.nodes)].name
    is_running = draw.chance(97)
    if is_running:
        group.last_start_time.seconds = NOW_S - draw.choice((60, 4_000, 80_000))
    claim = f"claim-{uid}" if draw.chance(10) else ""
    if claim:
        snapshot.resource_claims.add(id=claim).requests.add(device_class="nic", count=1)
    for i in range(size):
        pod = snapshot.pods.add(uid=f"{uid}-{i}", name=f"p{i}", pod_group=uid, shape=shape)
        pod.status = pb.POD_STATUS_PENDING
        pod.creation_time.FromNanoseconds((NOW_S - 90_000 + number) * 10**9 + draw.integer(0, 999))
        if claim:
            pod.resource_claims.append(claim)
        if shape == "apart":
            pod.labels["app"] = uid
        if is_running:
            _run(pod, node)
        elif draw.chance(10):
            pod.nominated_node = node


def _add_wide_group(snapshot: pb.ClusterSnapshot) -> None:
    """Add a pod group that needs a complete node, which only evictions can free."""
    group = snapshot.pod_groups.add(uid="wide", queue="c", priority=75, preemptibility=1, min_member=1)
    group.creation_time.seconds = NOW_S - 100
    snapshot.pods.add(uid="wide-0", pod_group="wide", shape="node", status=pb.POD_STATUS_PENDING)


def _run(pod: pb.Pod, node: str) -> None:
    pod.status, pod.node = pb.POD_STATUS_RUNNING, node
    pod.ClearField("nominated_node")
    if pod.shape == "half":
        pod.gpu_groups[:] = [f"{node}/{pod.pod_group}"]


def _add_queue(draw: Draw, snapshot: pb.ClusterSnapshot, name: str) -> None:
    queue = snapshot.queues.add(name=name, parent=name[0])
    queue.gpu_milli.quota = draw.choice((0, 4_000, 16_000))
    if draw.chance(50):
        queue.preempt_min_runtime.seconds = queue.reclaim_min_runtime.seconds = draw.choice((0, 600, 7_200))


def _add_shape(snapshot: pb.ClusterSnapshot, name: str) -> None:
    shape = snapshot.shapes.add(id=name)
    shape.requests.cpu_milli, shape.requests.memory_bytes = 1_000, 2**30
    if name == "half":
        shape.gpu.devices, shape.gpu.portion_milli = 1, 500
    elif GPUS_OF[name]:
        shape.gpu.devices = GPUS_OF[name]
    if name == "apart":
        shape.pod_anti_affinity.add(topology_key="rack", match_labels={"app": "nobody"})


def _add_node(draw: Draw, snapshot: pb.ClusterSnapshot, name: str) -> None:
    node = snapshot.nodes.add(name=name, gpu_memory_mib=40_960, labels={"rack": f"r{draw.integer(0, 9)}"})
    amounts = node.allocatable
    amounts.cpu_milli, amounts.memory_bytes, amounts.gpu_milli, amounts.pods = (
        96_000,
        2**39,
        GPUS * 1_000,
        200,
    )
    node.devices["nic"] = 32


def _add_eviction_history(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    known = {(memory.victim, memory.preemptor) for memory in snapshot.eviction_history}
    victim, preemptor = draw.choice(snapshot.pod_groups).uid, draw.choice(snapshot.pod_groups).uid
    if victim != preemptor and (victim, preemptor) not in known:
        memory = snapshot.eviction_history.add(
            victim=victim, preemptor=preemptor, consecutive_failures=draw.integer(0, 3)
        )
        memory.last_eviction_time.seconds = NOW_S - draw.integer(10, 9_000)


def _some(draw: Draw, count: int) -> Iterator[int]:
    """A few positions in descending order, so that rows can be removed while iterating."""
    yield from sorted(
        {draw.integer(0, count - 1) for _ in range(draw.integer(1, 3))} if count else (), reverse=True
    )


def _change_pods(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    for i in _some(draw, len(snapshot.pods)):
        pod = snapshot.pods[i]
        if pod.status == pb.POD_STATUS_PENDING:
            _run(pod, draw.choice(snapshot.nodes).name)
        else:
            pod.status = draw.choice((pb.POD_STATUS_SUCCEEDED, pb.POD_STATUS_FAILED, pb.POD_STATUS_PENDING))
            pod.ClearField("node")
            pod.ClearField("gpu_groups")


def _remove_pods(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    for i in _some(draw, len(snapshot.pods)):
        del snapshot.pods[i]


def _new_group(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    number = 100_000 + snapshot.version
    add_group(draw, snapshot, f"group-{number}", number)


def _remove_group(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    if len(snapshot.pod_groups) < 2:
        return
    at = draw.integer(0, len(snapshot.pod_groups) - 1)
    uid = snapshot.pod_groups[at].uid
    del snapshot.pod_groups[at]
    kept = [pod for pod in snapshot.pods if pod.pod_group != uid]
    claims = [claim for claim in snapshot.resource_claims if claim.id != f"claim-{uid}"]
    memories = [m for m in snapshot.eviction_history if uid not in (m.victim, m.preemptor)]
    for rows, left in (
        (snapshot.pods, kept),
        (snapshot.resource_claims, claims),
        (snapshot.eviction_history, memories),
    ):
        copies = [type(row).FromString(row.SerializeToString()) for row in left]
        del rows[:]
        rows.extend(copies)


def _change_node(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    if draw.chance(50):
        draw.choice(snapshot.nodes).unschedulable ^= True
    else:
        _add_node(draw, snapshot, f"node-new-{snapshot.version}")


def _change_queue(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    draw.choice(snapshot.queues).gpu_milli.quota = draw.choice((0, 1_000, 8_000))


def _add_eviction_record(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    if snapshot.eviction_history and draw.chance(50):
        del snapshot.eviction_history[draw.integer(0, len(snapshot.eviction_history) - 1)]
    else:
        _add_eviction_history(draw, snapshot)


def _change_in_flight(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    if snapshot.in_flight_groups and draw.chance(50):
        del snapshot.in_flight_groups[draw.integer(0, len(snapshot.in_flight_groups) - 1)]
    elif snapshot.pods:
        add_in_flight(draw, snapshot, f"promise-new-{snapshot.version}")


def _change_budgets(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    budgets = snapshot.disruption_budgets
    if budgets and draw.chance(50):
        del budgets[draw.integer(0, len(budgets) - 1)]
    else:
        name = f"budget-{snapshot.version}"
        budgets.add(name=name, allowed=draw.integer(0, 2))
        for i in _some(draw, len(snapshot.pods)):
            snapshot.pods[i].disruption_budgets.append(name)


def _change_usage(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    rows = snapshot.queue_usage
    if rows and draw.chance(50):
        del rows[draw.integer(0, len(rows) - 1)]
    else:
        name = draw.choice(["", "gone", *(queue.name for queue in snapshot.queues)])
        if name not in {row.queue for row in rows}:
            mean = {"average": {"gpu": draw.integer(0, 9_000_000)}, "rate": {"gpu": 1_000}}
            rows.add(queue=name, time=snapshot.now, used=mean, normalized={"gpu": draw.integer(0, 10**6)})


def _change_runtimes(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    rows = snapshot.queue_runtimes
    if rows and draw.chance(50):
        del rows[draw.integer(0, len(rows) - 1)]
    else:
        name = draw.choice(["gone", *(queue.name for queue in snapshot.queues)])
        if name not in {row.queue for row in rows}:
            row = rows.add(queue=name, time=snapshot.now)
            row.sizes.add(gpu_milli=draw.choice((0, 1_000)), seconds=[draw.integer(0, 9_000)])


def _change_holds(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    for i in _some(draw, len(snapshot.pod_groups)):
        group = snapshot.pod_groups[i]
        group.held_by = draw.choice((0, 0, pb.HOLD_REASON_USER))
        group.not_before_time.seconds = snapshot.now.seconds + draw.integer(-300, 900)


def _change_planned_starts(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    rows = snapshot.planned_starts
    if rows and draw.chance(50):
        del rows[draw.integer(0, len(rows) - 1)]
        return
    name = draw.choice(["gone", *(group.uid for group in snapshot.pod_groups)])
    if name not in {row.pod_group for row in rows}:
        row = rows.add(pod_group=name, since=snapshot.now, held=draw.integer(0, 4_000))
        nodes = ["gone", *(node.name for node in snapshot.nodes)]
        row.pods.add(node=draw.choice(nodes), shape=draw.choice(snapshot.shapes).id, pods=1)


def _change_postponed(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    rows = snapshot.postponed_pod_groups
    if rows and draw.chance(50):
        del rows[draw.integer(0, len(rows) - 1)]
        return
    name = draw.choice(["gone", *(group.uid for group in snapshot.pod_groups)])
    if name not in {row.pod_group for row in rows}:
        rows.add(pod_group=name, since=snapshot.now)


_CHANGES: Final = (
    *(_change_pods, _remove_pods, _new_group, _remove_group),
    *(_change_node, _change_queue, _add_eviction_record, _change_in_flight),
    *(_change_budgets, _change_usage, _change_runtimes, _change_holds, _change_planned_starts),
    _change_postponed,
)
_CHANGES_OF_WORKLOADS: Final = (
    *(_change_pods, _remove_pods, _new_group, _remove_group, _change_in_flight),
    _change_holds,
)
