"""Requests with a growing number of elements in one repeated field or map, for every such field of the
contract.

`generated_cases` fills each field by its descriptor with elements that are empty, equal or distinct, which
are mostly invalid. `VALID` fills the fields of a snapshot with valid elements and with what refers to them,
where the most work is done. Both have a case for a new field, or fail until there is one.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.v1 import decision_pb2, report_pb2, simulate_pb2, state_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2 import DESCRIPTOR
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.wire.columns import to_columns

from tests.attacks.work.growing_constraints import CONSTRAINTS, Fill

Path = tuple[FieldDescriptor, ...]
EPOCH: Final = "epoch"
LABEL: Final = "kubernetes.io/hostname"
NODE: Final = "n"
_TIME: Final = {"seconds": 1_600_000_000}


Call = tuple[str, list[Message]]
"""Name of a method, and its requests."""


class Case(NamedTuple):
    """One way to fill a field."""

    field: str
    """Message and field, as in `Node.taints`."""
    name: str
    """How it is filled, and in which request."""
    calls: Callable[[int], list[Call]]
    """Calls with this number of elements, each of which is counted. The first is never: it pushes a state."""


def request_types() -> dict[str, Descriptor]:
    """Request of each method."""
    methods = DESCRIPTOR.services_by_name["DecisionService"].methods
    return {method.name: method.input_type for method in methods}


def repeated_paths(message: Descriptor, above: Path = ()) -> Iterator[Path]:
    """Paths from a message to all its repeated fields and maps, however deep."""
    for field in message.fields:
        inner = field.message_type
        if field.is_repeated:
            yield (*above, field)
        is_own = inner is not None and inner.file.package == message.file.package
        if inner is not None and is_own and not inner.GetOptions().map_entry:
            yield from repeated_paths(inner, (*above, field))


def field_name(field: FieldDescriptor) -> str:
    """Message and field."""
    return f"{field.containing_type.name}.{field.name}"


def base_snapshot() -> pb.ClusterSnapshot:
    """A node, a queue, a topology, and a pod group with one running pod."""
    snapshot = pb.ClusterSnapshot(cluster_id="c", version=1, now={"seconds": 1_700_000_000})
    amounts = {"cpu_milli": 10**9, "memory_bytes": 10**12, "gpu_milli": 10**6, "pods": 10**6}
    labels = {"zone": "z", LABEL: NODE}
    snapshot.nodes.add(name=NODE, allocatable=amounts, gpu_memory_mib=40_000, labels=labels)
    snapshot.queues.add(name="top")
    snapshot.queues.add(name="q", parent="top")
    snapshot.topologies.add(name="t", levels=["zone"])
    snapshot.shapes.add(id="s", requests={"cpu_milli": 1})
    _group(snapshot, "g")
    _pod(snapshot, "p")
    return snapshot


def _group(snapshot: pb.ClusterSnapshot, uid: str, **fields: Any) -> pb.PodGroup:
    values = {"queue": "q", "min_member": 1, "creation_time": _TIME, "last_start_time": _TIME, **fields}
    return snapshot.pod_groups.add(uid=uid, name=uid, namespace="ns", **values)


def _pod(snapshot: pb.ClusterSnapshot, uid: str, **fields: Any) -> pb.Pod:
    values = {"pod_group": "g", "shape": "s", "status": pb.POD_STATUS_RUNNING, "node": NODE, **fields}
    return snapshot.pods.add(uid=uid, name=uid, **values)


def _pods(snapshot: pb.ClusterSnapshot, count: int, **fields: Any) -> None:
    for i in range(count):
        _pod(snapshot, f"p{i}", **fields)


def _nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}", allocatable=snapshot.nodes[0].allocatable)
        node.labels[LABEL] = f"n{i}"
        _pod(snapshot, f"p{i}", node=f"n{i}")


def _leaf_queues(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"q{i}", parent="top", gpu_milli={"quota": i, "over_quota_weight": i + 1})
        _group(snapshot, f"g{i}", queue=f"q{i}")
        _pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _queues_in_a_cycle(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.queues.add(name=f"q{i}", parent=f"q{(i + 1) % count}")


def _pod_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _group(snapshot, f"g{i}")
        _pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _semi_preemptible_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _group(snapshot, f"g{i}", preemptibility=pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE)
        _pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _stale_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _group(snapshot, f"g{i}", min_member=2, stale_since=_TIME)
        _pod(snapshot, f"p{i}", pod_group=f"g{i}")


def _shapes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.shapes.add(id=f"s{i}", requests={"cpu_milli": i})
        _pod(snapshot, f"p{i}", shape=f"s{i}")


def _topologies(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.topologies.add(name=f"t{i}", levels=["zone"])
        _group(snapshot, f"g{i}", topology_constraint={"topology": f"t{i}", "required_level": "zone"})


def _claims_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}")
        _pod(snapshot, f"p{i}", resource_claims=[f"c{i}"])


def _claims_of_one_pod(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}")
    _pod(snapshot, "p0", resource_claims=[f"c{i}" for i in range(count)])


def _shared_claims(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _claim(snapshot, f"c{i}", queue="q")
        _pod(snapshot, f"p{i}", resource_claims=[f"c{i}"])
        _pod(snapshot, f"r{i}", resource_claims=[f"c{i}"])


def _claim(snapshot: pb.ClusterSnapshot, id: str, **fields: Any) -> None:
    if not snapshot.nodes[0].devices:
        snapshot.nodes[0].devices["gpu"] = 10_000
    snapshot.resource_claims.add(id=id, requests=[{"device_class": "gpu", "count": 1}], **fields)


def _history_of_one_preemptor(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _group(snapshot, "w", last_start_time=None)
    for i in range(count):
        _group(snapshot, f"g{i}")
        _pod(snapshot, f"p{i}", pod_group=f"g{i}")
        _pod(snapshot, f"w{i}", pod_group="w", status=pb.POD_STATUS_RELEASING)
        record = {"victim": f"g{i}", "preemptor": "w", "last_eviction_time": _TIME, "result_pending": True}
        snapshot.eviction_history.add(**record)


def _in_flight(
    kind: str, status: int, groups: int, each: int, prefix: str, snapshot: pb.ClusterSnapshot
) -> None:
    """In-flight groups with decisions about pods that have this status; 0: that are gone."""
    _group(snapshot, "w", min_member=0, last_start_time=None)
    for i in range(groups):
        group = snapshot.in_flight_groups.add(
            id=f"f{i}", beneficiary="w", expire_time={"seconds": 1_800_000_000}
        )
        for k in range(each):
            pod = f"w{i}-{k}"
            getattr(group, kind).add(pod=f"{prefix}{pod}", node=NODE, pod_group="w")
            if status:
                node = "" if status == pb.POD_STATUS_PENDING else NODE
                _pod(snapshot, pod, pod_group="w", status=status, node=node)


def _columns(fill: Callable[[pb.ClusterSnapshot, int], None]) -> Callable[[pb.ClusterSnapshot, int], None]:
    """The same snapshot with its pods as columns."""

    def filled(snapshot: pb.ClusterSnapshot, count: int) -> None:
        fill(snapshot, count)
        snapshot.CopyFrom(to_columns(snapshot))

    return filled


def _unknown_sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _pod(snapshot, f"p{i}", sub_group=f"unknown{i}")


def _nominated_nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _pod(snapshot, f"p{i}", nominated_node=f"gone{i}")


def _missing_nodes(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        _group(snapshot, f"g{i}")
        _pod(snapshot, f"p{i}", pod_group=f"g{i}", node=f"gone{i}")


def _labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.nodes[0].labels[f"l{i}"] = "v"
        snapshot.shapes.add(id=f"s{i}", node_selector={f"l{i}": "v"})
        _pod(snapshot, f"p{i}", shape=f"s{i}")


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
        _pod(snapshot, f"p{i}", node=f"n{i}", numa_placement=[{"zone": "z0", "amounts": {"cpu_milli": 1}}])


def _extended(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        node = snapshot.nodes.add(name=f"n{i}")
        for kind in range(8):
            node.allocatable.extended[f"e{kind}"] = i * kind % 3


def _sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    group = _group(snapshot, "w")
    group.ClearField("min_member")
    for i in range(count):
        group.sub_groups.add(name=f"s{i}", min_member=1)
        _pod(snapshot, f"p{i}", pod_group="w", sub_group=f"s{i}")


def _sub_groups_in_a_cycle(snapshot: pb.ClusterSnapshot, count: int) -> None:
    group = _group(snapshot, "w")
    group.ClearField("min_member")
    for i in range(count):
        group.sub_groups.add(name=f"s{i}", parent=f"s{(i + 1) % count}")


def _many_sub_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _sub_groups(snapshot, 17 * count)  # more than are allowed


def _annotations(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.pod_groups[0].annotations[f"a{i}"] = "v"
        _group(snapshot, f"g{i}").annotations["kai.scheduler/expected-runtime"] = "never"


def _opt_outs(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.pod_groups[0].opt_out_actions.extend(["reclaim"] * count)


def _levels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.topologies.add(name="deep", levels=["zone", *(f"l{i}" for i in range(count))])
    for i in range(count):
        constraint = {"topology": "deep", "required_level": f"l{i}"}
        _group(snapshot, f"g{i}", topology_constraint=constraint)


def _shared_gpu_of(snapshot: pb.ClusterSnapshot, devices: int) -> None:
    snapshot.shapes.add(id="half", gpu={"devices": devices, "portion_milli": 500})


def _gpu_groups(snapshot: pb.ClusterSnapshot, count: int) -> None:
    if count:
        _shared_gpu_of(snapshot, count)
        _pod(snapshot, "p0", shape="half", gpu_groups=[f"d{i}" for i in range(count)])


def _gpu_groups_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _shared_gpu_of(snapshot, 1)
    for i in range(count):
        _pod(snapshot, f"p{i}", shape="half", gpu_groups=[f"d{i}"])


def _gpu_groups_in_flight(snapshot: pb.ClusterSnapshot, count: int) -> None:
    if count:
        _shared_gpu_of(snapshot, count)
        _pod(snapshot, "w0", shape="half", status=pb.POD_STATUS_PENDING, node="")
        group = snapshot.in_flight_groups.add(id="f", beneficiary="g", expire_time={"seconds": 1_800_000_000})
        group.bindings.add(pod="w0", node=NODE, pod_group="g", gpu_groups=[f"d{i}" for i in range(count)])


def _pod_labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="near", pod_affinity=[{"match_labels": {"l0": "v"}, "topology_key": "zone"}])
    _pod(snapshot, "p0", labels={f"l{i}": "v" for i in range(count)})


def _labels_of_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="near", pod_affinity=[{"match_labels": {"app": "a"}, "topology_key": "zone"}])
    for i in range(count):
        _pod(snapshot, f"p{i}", labels={"app": "a", "own": f"{i}"}, shape="near")


def _selector(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="w", node_selector={f"l{i}": "v" for i in range(count)})
    _pods(snapshot, count, shape="w")


def _node_affinity(snapshot: pb.ClusterSnapshot, count: int) -> None:
    shape = snapshot.shapes.add(id="w")
    for i in range(count):
        requirement = {"key": f"k{i}", "operator": pb.SELECTOR_OPERATOR_EXISTS}
        shape.node_affinity.add(requirements=[requirement])
    _pods(snapshot, count, shape="w")


def _requirements(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = snapshot.shapes.add(id="w").node_affinity.add()
    for i in range(count):
        term.requirements.add(key=f"k{i}", operator=pb.SELECTOR_OPERATOR_EXISTS)
    _pods(snapshot, count, shape="w")


def _values(snapshot: pb.ClusterSnapshot, count: int) -> None:
    requirement = snapshot.shapes.add(id="w").node_affinity.add().requirements.add(key="k")
    requirement.operator = pb.SELECTOR_OPERATOR_NOT_IN
    requirement.values.extend(["v", *(f"v{i}" for i in range(count))])
    _pods(snapshot, count, shape="w")


def _tolerations(snapshot: pb.ClusterSnapshot, count: int) -> None:
    shape = snapshot.shapes.add(id="w")
    for i in range(count):
        shape.tolerations.add(key=f"k{i}", exists=True)
    _pods(snapshot, count, shape="w")


def _terms_of_one_shape(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many terms of one shape, and as many pods of it, each with labels of its own."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        shape = snapshot.shapes.add(id="w")
        for i in range(count):
            getattr(shape, kind).add(match_labels={"app": f"{i}"}, topology_key=LABEL)
            _pod(snapshot, f"p{i}", shape="w", labels={"app": f"{i}"})

    return fill


def _terms_of_their_own(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many shapes with a term of their own, each of one pod that it selects."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        for i in range(count):
            shape = snapshot.shapes.add(id=f"s{i}")
            getattr(shape, kind).add(match_labels={"app": f"{i}"}, topology_key=LABEL)
            _pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": f"{i}"})

    return fill


def _terms_for_all(kind: str) -> Callable[[pb.ClusterSnapshot, int], None]:
    """Many terms that all select all pods."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        for i in range(count):
            shape = snapshot.shapes.add(id=f"s{i}")
            getattr(shape, kind).add(match_labels={"app": "a"}, topology_key=f"k{i}")
            _pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": "a", "own": f"{i}"})

    return fill


def _match_labels(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = snapshot.shapes.add(id="w").pod_anti_affinity.add(topology_key=LABEL)
    term.match_labels["app"] = "a"
    for i in range(count):
        term.match_labels[f"l{i}"] = "v"
    _pods(snapshot, count, shape="w", labels={"app": "a"})


def _claim_requests(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.nodes[0].devices["gpu"] = 10_000
    requests = [{"device_class": "gpu", "count": 1}] * (count + 1)
    snapshot.resource_claims.add(id="c", requests=requests)
    _pods(snapshot, min(count, 200), resource_claims=["c"])


def _numa_placements(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _zones(snapshot, 1)
    placements = [{"zone": f"z{i}", "amounts": {"cpu_milli": 1}} for i in range(count)]
    _pod(snapshot, "placed", node="n0", numa_placement=placements)


def _numa_placements_in_flight(snapshot: pb.ClusterSnapshot, count: int) -> None:
    _zones(snapshot, 1)
    group = snapshot.in_flight_groups.add(id="f", beneficiary="g", expire_time={"seconds": 1_800_000_000})
    placements = [{"zone": f"z{i}", "amounts": {"cpu_milli": 1}} for i in range(count)]
    group.bindings.add(pod="p0", node="n0", pod_group="g", numa_placement=placements)


_PENDING, _RUNNING = pb.POD_STATUS_PENDING, pb.POD_STATUS_RUNNING
_TERMS: Final = (_terms_of_one_shape, _terms_of_their_own, _terms_for_all)
VALID: Final[dict[str, tuple[Fill, ...]]] = {
    "ClusterSnapshot.nodes": (_nodes,),
    "ClusterSnapshot.queues": (_leaf_queues, _queues_in_a_cycle),
    "ClusterSnapshot.pod_groups": (_pod_groups, _semi_preemptible_groups, _stale_groups),
    "ClusterSnapshot.pods": (_pods, _unknown_sub_groups, _missing_nodes),
    "ClusterSnapshot.shapes": (_shapes,),
    "ClusterSnapshot.topologies": (_topologies,),
    "ClusterSnapshot.resource_claims": (_claims_of_pods, _claims_of_one_pod, _shared_claims),
    "ClusterSnapshot.eviction_history": (_history_of_one_preemptor,),
    "ClusterSnapshot.in_flight_groups": (
        lambda snapshot, count: _in_flight("evictions", _RUNNING, count, 1, "", snapshot),
        lambda snapshot, count: _in_flight("reservations", _PENDING, count, 1, "gone-", snapshot),
        lambda snapshot, count: _in_flight("bindings", _PENDING, count, 1, "", snapshot),
    ),
    "PodColumns.string_table": (_columns(_pod_groups),),
    "PodColumns.uid": (_columns(_pods),),
    "PodColumns.name": (_columns(_pods),),
    "PodColumns.pod_group": (_columns(_pod_groups),),
    "PodColumns.shape": (_columns(_shapes),),
    "PodColumns.status": (_columns(_pods),),
    "PodColumns.node": (_columns(_nodes),),
    "PodColumns.creation_time_delta_ns": (_columns(_pods),),
    "PodColumns.sub_group": (_columns(_unknown_sub_groups),),
    "PodColumns.nominated_node": (_columns(_nominated_nodes),),
    "InFlightGroup.evictions": (
        lambda snapshot, count: _in_flight("evictions", _RUNNING, 1, count, "", snapshot),
    ),
    "InFlightGroup.reservations": (
        lambda snapshot, count: _in_flight("reservations", _PENDING, 1, count, "", snapshot),
        lambda snapshot, count: _in_flight("reservations", _PENDING, 1, count, "gone-", snapshot),
    ),
    "InFlightGroup.bindings": (
        lambda snapshot, count: _in_flight("bindings", _PENDING, 1, count, "", snapshot),
    ),
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
    "Topology.levels": (_levels,),
    "Pod.gpu_groups": (_gpu_groups, _gpu_groups_of_pods),
    "Pod.resource_claims": (_claims_of_one_pod,),
    "Pod.labels": (_pod_labels, _labels_of_pods),
    "Pod.numa_placement": (_numa_placements,),
    "PodShape.node_selector": (_selector,),
    "PodShape.node_affinity": (_node_affinity,),
    "PodShape.tolerations": (_tolerations,),
    "PodShape.pod_affinity": tuple(terms("pod_affinity") for terms in _TERMS),
    "PodShape.pod_anti_affinity": tuple(terms("pod_anti_affinity") for terms in _TERMS),
    "PodAffinityTerm.match_labels": (_match_labels,),
    **CONSTRAINTS,
    "ResourceClaim.requests": (_claim_requests,),
    "NodeSelectorTerm.requirements": (_requirements,),
    "NodeSelectorRequirement.values": (_values,),
}
"""Ways to fill each field of a snapshot with elements that are valid, up to fixed limits."""


def cases() -> Iterator[Case]:
    """All cases."""
    for field, fills in VALID.items():
        for number, fill in enumerate(fills):
            yield Case(field, f"valid {number}", _state_calls(fill))
    yield from _other_cases()
    yield from generated_cases()


PUSH: Final[Call] = ("PutSnapshot", [])
"""The first call of every case, with the base snapshot."""


def _state_calls(fill: Fill) -> Callable[[int], list[Call]]:
    """Add everything to a state with one delta, send it again, remove the pods, push it; a decision on each.

    The last one is on the same snapshot without a state.
    """

    def calls(count: int) -> list[Call]:
        filled = base_snapshot()
        fill(filled, count)
        kept = {row.uid for row in base_snapshot().pods}
        gone = [
            uid for uid in (*(row.uid for row in filled.pods), *filled.pod_columns.uid) if uid not in kept
        ]
        nothing = pb.ClusterSnapshot()
        return [
            PUSH,
            ("ApplyDelta", [state_pb2.ApplyDeltaRequest(delta=delta(filled))]),
            ("Decide", [DecideRequest(state=reference(2))]),
            ("Decide", [DecideRequest(delta=delta(filled, 2))]),
            ("Decide", [DecideRequest(delta=delta(nothing, 3, state_pb2.StateKeys(pods=gone)))]),
            ("PutSnapshot", [full_push(filled)]),
            ("GetState", [state_pb2.GetStateRequest(cluster_id="c")]),
            ("Decide", [DecideRequest(snapshot=filled)]),
        ]

    return calls


def reference(version: int) -> state_pb2.StateReference:
    """Reference to a version of the pushed state."""
    return state_pb2.StateReference(cluster_id="c", epoch=EPOCH, version=version)


def full_push(snapshot: pb.ClusterSnapshot) -> state_pb2.PutSnapshotRequest:
    """The only chunk of a push."""
    return state_pb2.PutSnapshotRequest(epoch=EPOCH, chunk=snapshot, last_chunk=True)


def delta(
    upserts: pb.ClusterSnapshot, base: int = 1, removals: state_pb2.StateKeys | None = None
) -> state_pb2.StateDelta:
    """Delta on a version of the pushed state."""
    now = {"seconds": 1_700_000_000}
    return state_pb2.StateDelta(
        base=reference(base), version=base + 1, now=now, upserts=upserts, removals=removals
    )


def _other_cases() -> Iterator[Case]:
    """Valid requests that are not about rows of a snapshot."""

    def actions(count: int) -> list[Call]:
        return [PUSH, ("Decide", [DecideRequest(snapshot=base_snapshot(), actions=["allocate"] * count)])]

    def simulated(count: int) -> list[Call]:
        request = simulate_pb2.SimulateRequest(snapshot=base_snapshot(), actions=["allocate"] * count)
        return [PUSH, ("Simulate", [request])]

    def report(count: int) -> list[Call]:
        request = report_pb2.ReportResultsRequest(cluster_id="c", now=_TIME)
        group = request.groups.add(group={"id": "g"})
        for i in range(count):
            group.group.decisions.add(id=f"e{i}", evict={"pod": f"p{i}", "pod_group": "v"})
            patch = {"pod_group": "v", "set_eviction_record": {"victim": "v", "preemptor": f"w{i}"}}
            group.group.decisions.add(id=f"p{i}", patch=patch)
            group.group.decisions.add(id=f"s{i}", patch={"pod_group": f"w{i}", "last_start_time": _TIME})
            group.group.decisions.add(id=f"b{i}", bind={"pod": f"w{i}"})
            group.results.add(decision_id=f"e{i}", status=report_pb2.APPLY_STATUS_FAILED)
            group.eviction_history.add(victim="v", preemptor=f"w{i}", last_eviction_time=_TIME)
        return [PUSH, ("ReportResults", [request])]

    def reports(count: int) -> list[Call]:
        request = report_pb2.ReportResultsRequest(cluster_id="c", now=_TIME)
        for i in range(count):
            decision = decision_pb2.Decision(id="e", evict={"pod": "p", "pod_group": "v"})
            result = {"decision_id": "e", "status": report_pb2.APPLY_STATUS_APPLIED}
            request.groups.add(group={"id": f"g{i}", "decisions": [decision]}, results=[result])
        return [PUSH, ("ReportResults", [request])]

    yield Case("DecideRequest.actions", "valid", actions)
    yield Case("SimulateRequest.actions", "valid", simulated)
    yield Case("DecisionGroup.decisions", "valid", report)
    yield Case("ReportResultsRequest.groups", "valid", reports)


COMPLETE: Final = (("Decide", "snapshot"), ("ApplyDelta", "delta"), ("ReportResults", "groups"))
"""Methods and fields of their requests below which each field is filled in every way."""
_SHORT: Final = 3
"""Length of the paths to rows and keys; the messages below them are the same for all methods."""


def generated_cases() -> Iterator[Case]:
    """Every repeated field of every request, filled by its descriptor."""
    for method, message in request_types().items():
        for path in repeated_paths(message):
            where = ".".join(field.name for field in path)
            is_complete = (method, path[0].name) in COMPLETE
            for kind in ("empty", "equal", "distinct") if is_complete else ("distinct",):
                if is_complete or len(path) <= _SHORT:
                    yield Case(
                        field_name(path[-1]), f"{kind}, {method} {where}", _generated(method, path, kind)
                    )


def _generated(method: str, path: Path, kind: str) -> Callable[[int], list[Call]]:
    def make(count: int) -> list[Call]:
        request = _template(method, path[0].name)
        _fill(request, path, kind, count)
        return [PUSH, (method, [request])]

    return make


def _template(method: str, field: str) -> Message:
    """A valid request with rows, for the field that is filled."""
    match method, field:
        case "Decide", "delta":
            return DecideRequest(delta=delta(base_snapshot()))
        case "Decide", _:
            return DecideRequest(snapshot=base_snapshot())
        case "ApplyDelta", _:
            return state_pb2.ApplyDeltaRequest(delta=delta(base_snapshot()))
        case "SyncState", _:
            return state_pb2.SyncStateRequest(nonce="n", delta=delta(base_snapshot()))
        case "PutSnapshot", _:
            return full_push(base_snapshot())
        case "Simulate", _:
            return simulate_pb2.SimulateRequest(snapshot=base_snapshot())
        case "Explain", _:
            return ExplainRequest(snapshot=base_snapshot(), protected_until={"pod_group": "g"})
    request = report_pb2.ReportResultsRequest(cluster_id="c", now=_TIME)
    request.groups.add(group={"id": "g", "decisions": [{"id": "d"}]})
    return request


def _fill(message: Any, path: Path, kind: str, count: int) -> None:
    """Fill the last field of the path in the first row of every list on the way."""
    for field in path[:-1]:
        value = getattr(message, field.name)
        if field.is_repeated:
            message = value[0] if value else value.add()
        else:
            message = value
            message.SetInParent()
    field, values = path[-1], getattr(message, path[-1].name)
    inner = field.message_type
    for i in range(count):
        text = {"empty": "", "equal": "x", "distinct": f"x{i}"}[kind]
        if inner is not None and inner.GetOptions().map_entry:
            number = inner.fields_by_name["value"].type != FieldDescriptor.TYPE_STRING
            values[f"x{i}"] = len(text) if number else text
        elif inner is not None:
            row = values.add()
            for part in inner.fields if text else ():
                if (
                    part.type == FieldDescriptor.TYPE_STRING
                    and not part.is_repeated
                    and not part.containing_oneof
                ):
                    setattr(row, part.name, text)
        elif field.type == FieldDescriptor.TYPE_STRING:
            values.append(text)
        elif field.type == FieldDescriptor.TYPE_ENUM:
            values.append(len(text) % 2)
        else:
            values.append({"empty": 0, "equal": 1, "distinct": i}[kind])
