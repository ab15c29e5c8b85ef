"""Random snapshots with difficult names: similar names, mixed case, numbers and reserved words."""

from collections.abc import Sequence
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.properties.generators.draw import Draw

NOW_S: Final = 1_700_000_000
NODES: Final = ("zeta", "b", "b-1", "node-1", "10", "9", "Ä")
QUEUES: Final = ("queue-2", "Zebra", "apple", "default", "queue-1")
GROUPS: Final = ("z", "pod-group-1", "A", "a", "~last", "0", "pod-2", "long/name")
PARTS: Final = ("zeta", "default", "Alpha", "beta", "part-9", "abc")
LEVELS: Final = ("rack", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "acme.com/z", "zz")
TEXTS: Final = ("9", "10", "-5", "1", "1-x", "true", "north", "South", "value-1", "07", "7")
CLASSES: Final = ("nic", "acme-gpu", "fpga.GPU.example", "a")
RESOURCES: Final = (
    *("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb.me", "nvidia.com/mig-3g.acme", "nvidia.com/mig-acme"),
    *("hugepages-2Mi", "hugepages-acme", "ephemeral-storage", "acme.com/chip", "zz.com/card", "Board"),
)
TAINTS: Final = ("dedicated", "node.kubernetes.io/unreachable", "acme.com/only", "nvidia.com/gpu")
CONDITIONS: Final = ("NotReady", "AcmeBroken", "MemoryPressure", "PartlyBroken", "zzz")
BLOCKERS: Final = ("volume claim data is missing", "b", "")
MODES: Final = ("Preemptible", "semi-preemptible", "acme says no", "")
TERMS: Final = ("1h", "-1h", "soon", "5d8h40m", "9999999w", "")


def adversarial_snapshot(draw: Draw) -> pb.ClusterSnapshot:
    """Generate a few rows of every list."""
    snapshot = pb.ClusterSnapshot(cluster_id="acme-prod", node_pool="h100", version=3)
    snapshot.now.seconds = NOW_S
    levels = _some(draw, LEVELS, 3)
    snapshot.topologies.add(name="fabric", levels=levels)
    for name in _some(draw, NODES, 5):
        _add_node(draw, snapshot, name)
    names = _some(draw, QUEUES, 4)
    for at, name in enumerate(names):
        queue = snapshot.queues.add(name=name, parent=names[0] if at and draw.chance(50) else "")
        queue.gpu_milli.quota = draw.choice((0, 1_000, 4_000))
    for number in range(3):
        _add_shape(draw, snapshot, f"shape {draw.choice('xyz')}{number}")
    for name in _some(draw, GROUPS, 6):
        _add_group(draw, snapshot, name, levels)
    _add_eviction_history(draw, snapshot)
    return snapshot


def _some(draw: Draw, options: Sequence[str], most: int) -> list[str]:
    """Draw at least one value, each at most once, in any order."""
    left, found = list(options), []
    for _ in range(draw.integer(1, most)):
        found.append(draw.choice(left))
        left.remove(found[-1])
    return found


def _add_node(draw: Draw, snapshot: pb.ClusterSnapshot, name: str) -> None:
    node = snapshot.nodes.add(name=name, gpu_memory_mib=40_960)
    amounts = node.allocatable
    amounts.cpu_milli, amounts.memory_bytes, amounts.gpu_milli, amounts.pods = 16_000, 2**36, 4_000, 20
    for label in _some(draw, LEVELS, 5):
        node.labels[label] = draw.choice(TEXTS)
    if draw.chance(30):
        node.labels["node-role.kubernetes.io/mig-enabled"] = draw.choice(("true", "false", "acme"))
    for resource in _some(draw, RESOURCES, 4):
        amounts.extended[resource] = draw.integer(1, 4)
    for device_class in _some(draw, CLASSES, 3):
        node.devices[device_class] = 2
    if draw.chance(20):
        node.taints.add(key=draw.choice(TAINTS), value=draw.choice(TEXTS), effect=1)
        node.taints.add(key=draw.choice(TAINTS), effect=3)
    if draw.chance(10):
        node.unready_conditions.extend(_some(draw, CONDITIONS, 3))
    if draw.chance(30):
        node.numa_policy = draw.choice((1, 2, 3))
        for zone in ("zone-2", "0"):
            node.numa_zones.add(id=zone).allocatable.cpu_milli = 8_000


def _add_shape(draw: Draw, snapshot: pb.ClusterSnapshot, name: str) -> None:
    shape = snapshot.shapes.add(id=name, guaranteed=draw.chance(30))
    shape.requests.cpu_milli, shape.requests.memory_bytes = 1_000, 2**30
    shape.gpu.devices = draw.choice((1, 0, 2))
    if shape.gpu.devices == 1 and draw.chance(50):
        shape.gpu.portion_milli = 500
    if draw.chance(20):
        shape.requests.extended[draw.choice(RESOURCES)] = 1
    if draw.chance(30):
        shape.node_affinity.add().requirements.append(_requirement(draw))
    if draw.chance(15):
        shape.node_selector[draw.choice(LEVELS)] = draw.choice(TEXTS)
    if draw.chance(50):
        shape.tolerations.add(key=draw.choice(TAINTS), exists=draw.chance(50), value=draw.choice(TEXTS))
    if draw.chance(30):
        term = shape.pod_anti_affinity.add(topology_key=draw.choice(LEVELS))
        term.match_labels["app"] = draw.choice(TEXTS)


def _requirement(draw: Draw) -> pb.NodeSelectorRequirement:
    operator = draw.choice((1, 2, 3, 5, 6))
    values = {1: _some(draw, TEXTS, 3), 2: _some(draw, TEXTS, 3), 3: []}
    numbers = [draw.choice(("9", "10", "-5", "7", "100"))]
    return pb.NodeSelectorRequirement(
        key=draw.choice(LEVELS), operator=operator, values=values.get(operator, numbers)
    )


def _add_group(draw: Draw, snapshot: pb.ClusterSnapshot, uid: str, levels: Sequence[str]) -> None:
    group = snapshot.pod_groups.add(uid=uid, name=draw.choice(("", f"job of {uid}")), namespace="team")
    group.queue = draw.choice((*(queue.name for queue in snapshot.queues), "gone"))
    group.priority = draw.choice((50, 75, 125))
    group.creation_time.seconds = NOW_S - 5_000 - draw.integer(0, 2)
    group.last_start_time.seconds = NOW_S - 4_000
    for key, values in (("preemptibility", MODES), ("expected-runtime", TERMS), ("requeue-delay", TERMS)):
        if draw.chance(30):
            group.annotations[f"kai.scheduler/{key}"] = draw.choice(values)
    group.annotations["acme.com/owner"] = "somebody"
    if draw.chance(40):
        constraint = group.topology_constraint
        constraint.topology, constraint.preferred_level = "fabric", draw.choice(levels)
    parts = _some(draw, PARTS, 3) if draw.chance(50) else []
    for part in parts:
        group.sub_groups.add(name=part, min_member=1)
    named = (*parts, *(part.upper() for part in parts), "other") if parts else ("Default", "")
    for number in range(draw.integer(1, 4)):
        pod = snapshot.pods.add(uid=f"{uid}.{number}", pod_group=uid, shape=draw.choice(snapshot.shapes).id)
        pod.sub_group = draw.choice(named)
        pod.name = draw.choice(("", "same"))
        pod.labels["app"] = draw.choice(TEXTS)
        _place(draw, snapshot, pod)


def _place(draw: Draw, snapshot: pb.ClusterSnapshot, pod: pb.Pod) -> None:
    node = draw.choice(snapshot.nodes).name
    if draw.chance(60):
        pod.status, pod.node = pb.POD_STATUS_RUNNING, draw.choice((node, node, node, node, "gone"))
        shape = next(shape for shape in snapshot.shapes if shape.id == pod.shape)
        if shape.gpu.HasField("portion_milli"):
            pod.gpu_groups.append(draw.choice((f"{node}/gpu-0", f"{node}/gpu-10", "aaa", "zzz")))
        pod.numa_placement.add(zone=draw.choice(("0", "zone-2", "other"))).amounts.cpu_milli = 1_000
        return
    pod.status = pb.POD_STATUS_PENDING
    if not snapshot.queue_usage:
        snapshot.queue_usage.add()
        for queue in snapshot.queues:
            snapshot.queue_usage.add(queue=queue.name, normalized={"gpu": 1})
            snapshot.queue_runtimes.add(queue=queue.name, time=snapshot.now)
    if not snapshot.planned_starts:
        row = snapshot.planned_starts.add(pod_group=pod.pod_group, since=snapshot.now)
        row.pods.add(node=node, shape=pod.shape, pods=1)
        snapshot.pod_groups[0].backfill_for.pod_groups.append(pod.pod_group)
    if not snapshot.disruption_budgets:
        snapshot.disruption_budgets.add(name=f"ns/budget of {pod.uid}", counted_pods=[pod.uid, "gone"])
    pod.disruption_budgets.append(draw.choice((snapshot.disruption_budgets[0].name, "ns/gone")))
    pod.nominated_node, pod.blocked_reason = draw.choice((node, "", "gone")), draw.choice(("", "", *BLOCKERS))
    if draw.chance(20):
        claim = snapshot.resource_claims.add(id=f"claim of {pod.uid}", from_template=True)
        claim.requests.add(device_class=draw.choice(CLASSES), count=1)
        pod.resource_claims.append(claim.id)


def _add_eviction_history(draw: Draw, snapshot: pb.ClusterSnapshot) -> None:
    victim, preemptor = snapshot.pod_groups[0].uid, snapshot.pod_groups[-1].uid
    memory = snapshot.eviction_history.add(
        victim=victim, preemptor=preemptor, consecutive_failures=draw.integer(0, 2)
    )
    memory.last_eviction_time.seconds = NOW_S - 900
    waiting = next((pod for pod in snapshot.pods if pod.status == pb.POD_STATUS_PENDING), None)
    if waiting is not None:
        for at, id_ in enumerate(("f00", "0ff")):
            group = snapshot.in_flight_groups.add(id=id_, action="allocate", beneficiary=waiting.pod_group)
            group.expire_time.seconds = NOW_S + 60
            node = draw.choice(snapshot.nodes).name
            group.reservations.add(pod=waiting.uid, node=node, pod_group=waiting.pod_group)
            group.reservations[0].gpu_groups.extend([f"{node}/gpu-0"] * at)
