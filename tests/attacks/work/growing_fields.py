"""Snapshots with a growing number of valid elements in the lists and maps of their rows."""

from collections.abc import Callable
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.attacks.work.growing_constraints import Fill
from tests.attacks.work.growing_rows import LABEL, NODE, add_group, add_pod, add_pods


def _labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.nodes[0].labels[f"l{i}"] = "v"
        snapshot.shapes.add(id=f"s{i}", node_selector={f"l{i}": "v"})
        add_pod(snapshot, f"p{i}", shape=f"s{i}")


def _taints(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.nodes[0].taints.add(key=f"k{i}", effect=pb.TAINT_EFFECT_NO_EXECUTE)


def _conditions(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.nodes[0].unready_conditions.extend(f"c{i}" for i in range(count))


def _devices(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}")
        for kind in range(8):
            node.devices[f"d{kind}"] = 1


def _zones(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}", allocatable=snapshot.nodes[0].allocatable)
        node.numa_policy = pb.NUMA_POLICY_RESTRICTED
        for zone in range(8):
            node.numa_zones.add(id=f"z{zone}", allocatable={"cpu_milli": 1000})
        add_pod(snapshot, f"p{i}", node=f"n{i}", numa_placement=[{"zone": "z0", "amounts": {"cpu_milli": 1}}])


def _extended(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}")
        for kind in range(8):
            node.allocatable.extended[f"e{kind}"] = i * kind % 3


def _sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    group = add_group(snapshot, "w")
    group.ClearField("min_member")
    for i in range(count):
        group.sub_groups.add(name=f"s{i}", min_member=1)
        add_pod(snapshot, f"p{i}", pod_group="w", sub_group=f"s{i}")


def _sub_groups_in_a_cycle(snapshot: pb.ClusterSnapshot, count: int) -> None:
    group = add_group(snapshot, "w")
    group.ClearField("min_member")
    for i in range(count):
        group.sub_groups.add(name=f"s{i}", parent=f"s{(i + 1) % count}")


def _many_sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _sub_groups(snapshot, 17 * count)  # more than are allowed


def _annotations(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.pod_groups[0].annotations[f"a{i}"] = "v"
        add_group(snapshot, f"g{i}").annotations["kai.scheduler/expected-runtime"] = "never"


def _opt_outs(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.pod_groups[0].opt_out_actions.extend(["reclaim"] * count)


def _granted_opt_outs(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.pod_groups[0].grant.opt_out_actions.extend(["reclaim"] * count)


def _dependencies(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        group = add_group(snapshot, f"g{i}", held_by=pb.HOLD_REASON_DEPENDENCY)
        group.depends_on.extend([f"g{i + 1}", "gone"])


def _class_limits(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.nodes[0].node_class = "c0"
    limits = snapshot.queues[0].class_limits
    limits.extend([pb.ClassLimit(node_class=f"c{i}", limit_gpu_milli=1_000) for i in range(count)])


def _classes_of_many_nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _class_limits(snapshot, count)
    for node in snapshot.nodes:
        node.node_class = f"c{node.name}"


def _causes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.pod_groups[0].evictions.by_cause[f"c{i}"] = 1


def _levels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.topologies.add(name="deep", levels=["zone", *(f"l{i}" for i in range(count))])
    for i in range(count):
        constraint = {"topology": "deep", "required_level": f"l{i}"}
        add_group(snapshot, f"g{i}", topology_constraint=constraint)


def _shared_gpu_of(snapshot: pb.ClusterSnapshot, devices: int) -> None:
    snapshot.shapes.add(id="half", gpu={"devices": devices, "portion_milli": 500})


def _gpu_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    if count:
        _shared_gpu_of(snapshot, count)
        add_pod(snapshot, "p0", shape="half", gpu_groups=[f"d{i}" for i in range(count)])


def _gpu_groups_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _shared_gpu_of(snapshot, 1)
    for i in range(count):
        add_pod(snapshot, f"p{i}", shape="half", gpu_groups=[f"d{i}"])


def _gpu_groups_in_flight(snapshot: pb.ClusterSnapshot, count: int) -> None:
    if count:
        _shared_gpu_of(snapshot, count)
        add_pod(snapshot, "w0", shape="half", status=pb.POD_STATUS_PENDING, node="")
        group = snapshot.in_flight_groups.add(id="f", beneficiary="g", expire_time={"seconds": 1_800_000_000})
        group.bindings.add(pod="w0", node=NODE, pod_group="g", gpu_groups=[f"d{i}" for i in range(count)])


def _pod_labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="near", pod_affinity=[{"match_labels": {"l0": "v"}, "topology_key": "zone"}])
    add_pod(snapshot, "p0", labels={f"l{i}": "v" for i in range(count)})


def _labels_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="near", pod_affinity=[{"match_labels": {"app": "a"}, "topology_key": "zone"}])
    for i in range(count):
        add_pod(snapshot, f"p{i}", labels={"app": "a", "own": f"{i}"}, shape="near")


def _selector(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="w", node_selector={f"l{i}": "v" for i in range(count)})
    add_pods(snapshot, count, shape="w")


def _node_affinity(snapshot: pb.ClusterSnapshot, count: int) -> None:
    shape = snapshot.shapes.add(id="w")
    for i in range(count):
        requirement = {"key": f"k{i}", "operator": pb.SELECTOR_OPERATOR_EXISTS}
        shape.node_affinity.add(requirements=[requirement])
    add_pods(snapshot, count, shape="w")


def _requirements(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = snapshot.shapes.add(id="w").node_affinity.add()
    for i in range(count):
        term.requirements.add(key=f"k{i}", operator=pb.SELECTOR_OPERATOR_EXISTS)
    add_pods(snapshot, count, shape="w")


def _values(snapshot: pb.ClusterSnapshot, count: int) -> None:
    requirement = snapshot.shapes.add(id="w").node_affinity.add().requirements.add(key="k")
    requirement.operator = pb.SELECTOR_OPERATOR_NOT_IN
    requirement.values.extend(["v", *(f"v{i}" for i in range(count))])
    add_pods(snapshot, count, shape="w")


def _tolerations(snapshot: pb.ClusterSnapshot, count: int) -> None:
    shape = snapshot.shapes.add(id="w")
    for i in range(count):
        shape.tolerations.add(key=f"k{i}", exists=True)
    add_pods(snapshot, count, shape="w")


def _terms_of_one_shape(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many terms of one shape, and as many pods of it, each with labels of its own."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        shape = snapshot.shapes.add(id="w")
        for i in range(count):
            getattr(shape, kind).add(match_labels={"app": f"{i}"}, topology_key=LABEL)
            add_pod(snapshot, f"p{i}", shape="w", labels={"app": f"{i}"})

    return fill


def _terms_of_their_own(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many shapes with a term of their own, each of one pod that it selects."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        for i in range(count):
            shape = snapshot.shapes.add(id=f"s{i}")
            getattr(shape, kind).add(match_labels={"app": f"{i}"}, topology_key=LABEL)
            add_pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": f"{i}"})

    return fill


def _terms_for_all(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many terms that all select all pods."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        for i in range(count):
            shape = snapshot.shapes.add(id=f"s{i}")
            getattr(shape, kind).add(match_labels={"app": "a"}, topology_key=f"k{i}")
            add_pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": "a", "own": f"{i}"})

    return fill


def _match_labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = snapshot.shapes.add(id="w").pod_anti_affinity.add(topology_key=LABEL)
    term.match_labels["app"] = "a"
    for i in range(count):
        term.match_labels[f"l{i}"] = "v"
    add_pods(snapshot, count, shape="w", labels={"app": "a"})


def _claim_requests(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.nodes[0].devices["gpu"] = 10_000
    requests = [{"device_class": "gpu", "count": 1}] * (count + 1)
    snapshot.resource_claims.add(id="c", requests=requests)
    add_pods(snapshot, min(count, 200), resource_claims=["c"])


def _numa_placements(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _zones(snapshot, 1)
    placements = [{"zone": f"z{i}", "amounts": {"cpu_milli": 1}} for i in range(count)]
    add_pod(snapshot, "placed", node="n0", numa_placement=placements)


def _numa_placements_in_flight(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _zones(snapshot, 1)
    group = snapshot.in_flight_groups.add(id="f", beneficiary="g", expire_time={"seconds": 1_800_000_000})
    placements = [{"zone": f"z{i}", "amounts": {"cpu_milli": 1}} for i in range(count)]
    group.bindings.add(pod="p0", node="n0", pod_group="g", numa_placement=placements)


_TERMS: Final = (_terms_of_one_shape, _terms_of_their_own, _terms_for_all)
FIELDS: Final[dict[str, tuple[Fill, ...]]] = {
    "InFlightDecision.gpu_groups": (_gpu_groups_in_flight,),
    "InFlightDecision.numa_placement": (_numa_placements_in_flight,),
    "Node.labels": (_labels,),
    "Node.taints": (_taints,),
    "Node.unready_conditions": (_conditions,),
    "Node.devices": (_devices,),
    "Node.numa_zones": (_zones,),
    "Resources.extended": (_extended,),
    "PodGroup.sub_groups": (_sub_groups, _sub_groups_in_a_cycle, _many_sub_groups),
    "PodGroup.annotations": (_annotations,),
    "PodGroup.opt_out_actions": (_opt_outs,),
    "PodGroup.depends_on": (_dependencies,),
    "Grant.opt_out_actions": (_granted_opt_outs,),
    "Queue.class_limits": (_class_limits, _classes_of_many_nodes),
    "EvictionCounts.by_cause": (_causes,),
    "Topology.levels": (_levels,),
    "Pod.gpu_groups": (_gpu_groups, _gpu_groups_of_pods),
    "Pod.labels": (_pod_labels, _labels_of_pods),
    "Pod.numa_placement": (_numa_placements,),
    "PodShape.node_selector": (_selector,),
    "PodShape.node_affinity": (_node_affinity,),
    "PodShape.tolerations": (_tolerations,),
    "PodShape.pod_affinity": tuple(terms("pod_affinity") for terms in _TERMS),
    "PodShape.pod_anti_affinity": tuple(terms("pod_anti_affinity") for terms in _TERMS),
    "PodAffinityTerm.match_labels": (_match_labels,),
    "ResourceClaim.requests": (_claim_requests,),
    "NodeSelectorTerm.requirements": (_requirements,),
    "NodeSelectorRequirement.values": (_values,),
}
"""Ways to fill each list and map of a row."""
