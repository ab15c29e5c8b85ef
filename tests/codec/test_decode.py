"""A valid snapshot is decoded to the cluster it describes."""

from collections.abc import Callable
from random import Random

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.solver.model.constraints import Constraints, Operator, Requirement, Taint, TaintEffect, Toleration
from tenure.solver.model.node import MigStrategy
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.resources import GpuRequest
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb

from tests.small_snapshot import small_snapshot

SECOND = 10**9


def test_amounts_and_times_preserve_their_units() -> None:
    cluster = decode_snapshot(small_snapshot())
    assert cluster.now == 1_700_000_000 * SECOND
    assert cluster.nodes[0].allocatable == (8000, 64000, 2000, 10)
    assert cluster.shapes[0].request == (1000, 1000, 1000, 1)
    assert cluster.pod_groups[0].facts.creation == 1_600_000_000 * SECOND
    assert cluster.pod_groups[0].facts.last_start == 1_690_000_000 * SECOND


def test_entities_refer_to_each_other_by_index() -> None:
    cluster = decode_snapshot(small_snapshot())
    left, right, top = cluster.queues
    assert (top.facts.name, top.children, top.path) == ("top", (left.index, right.index), (top.index,))
    assert left.path == (top.index, left.index)
    runs, waits = cluster.pod_groups
    assert (runs.queue, waits.queue) == (left.index, right.index)
    assert [task.pod_group for task in cluster.tasks] == [0, 0, 1, 1]
    assert [task.pod_set for task in cluster.tasks] == [0, 0, 1, 1]
    assert cluster.tasks[1].placement == Placement(TaskStatus.RUNNING, 0, ("d",))
    assert cluster.tasks[2].placement == Placement(TaskStatus.PENDING)


def test_display_names_default_to_uids() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].ClearField("name")
    cluster = decode_snapshot(snapshot)
    assert cluster.pod_groups[0].facts.name == "runs"
    assert cluster.tasks[0].facts.name == "runs-0"


@pytest.mark.parametrize("seed", range(5))
def test_order_of_lists_has_no_meaning(seed: int) -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].taints.add(key="a", effect=pb.TAINT_EFFECT_NO_EXECUTE)
    snapshot.nodes[0].taints.add(key="b", effect=pb.TAINT_EFFECT_NO_SCHEDULE)
    snapshot.nodes[0].unready_conditions.extend(["NotReady", "DiskPressure"])
    snapshot.shapes[0].tolerations.add(key="x", exists=True)
    snapshot.shapes[0].tolerations.add(key="a", value="v")
    snapshot.pod_groups[1].sub_groups.add(name="workers", min_member=1)
    snapshot.pod_groups[1].sub_groups.add(name="drivers", min_member=1)
    snapshot.pod_groups[0].opt_out_actions.extend(["requeue", "preempt", "reclaim"])
    for victim, preemptor in (("runs", "waits"), ("waits", "runs"), ("runs", "runs")):
        snapshot.eviction_history.add(victim=victim, preemptor=preemptor).last_eviction_time.seconds = 1
    for name in ("first", "second"):
        group = snapshot.in_flight_groups.add(id=name, beneficiary="waits")
        group.expire_time.seconds = 1_800_000_000
        for pod in ("waits-0", "waits-1"):
            group.reservations.add(pod=pod, node="n1", pod_group="waits")
    assert decode_snapshot(shuffled(snapshot, Random(seed))) == decode_snapshot(snapshot)


def shuffled(snapshot: pb.ClusterSnapshot, random: Random) -> pb.ClusterSnapshot:
    """Copy of a snapshot with its lists, and the lists of its elements, in another order."""
    copy = pb.ClusterSnapshot()
    copy.CopyFrom(snapshot)
    lists = [copy.nodes, copy.queues, copy.pod_groups, copy.pods, copy.shapes, copy.topologies]
    lists += [copy.in_flight_groups, *(group.reservations for group in copy.in_flight_groups)]
    lists += [copy.eviction_history, *(group.opt_out_actions for group in copy.pod_groups)]
    lists += [node.taints for node in copy.nodes] + [node.unready_conditions for node in copy.nodes]
    lists += [shape.tolerations for shape in copy.shapes] + [group.sub_groups for group in copy.pod_groups]
    for elements in lists:
        mixed = list(elements)
        random.shuffle(mixed)
        del elements[:]
        elements.extend(mixed)
    return copy


def test_extended_resources_have_positions_after_the_fixed_ones_by_name() -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].allocatable.extended["x/y"] = 3
    snapshot.shapes[0].requests.extended["nvidia.com/mig-2g.10gb"] = 2
    cluster = decode_snapshot(snapshot)
    assert cluster.resource_names == (
        "cpu",
        "memory",
        "nvidia.com/gpu",
        "pods",
        "nvidia.com/mig-2g.10gb",
        "x/y",
    )
    assert cluster.nodes[0].allocatable[4:] == (0, 3)
    assert cluster.shapes[0].request[4:] == (2, 0)
    assert cluster.shapes[0].mig_gpu_milli == 4000


@pytest.mark.parametrize("profile", ["\u00b2g.5gb", "g.5gb", "-1g.5gb", "9999999999g.5gb"])
def test_a_mig_profile_without_portions_counts_as_no_gpu(profile: str) -> None:
    snapshot = small_snapshot()
    snapshot.shapes[0].requests.extended[f"nvidia.com/mig-{profile}"] = 2
    assert decode_snapshot(snapshot).shapes[0].mig_gpu_milli == 0


@pytest.mark.parametrize(
    ("mib", "decoded", "known"), [(0, 100, False), (100, 100, True), (199, 100, True), (40960, 40900, True)]
)
def test_gpu_memory_is_rounded_down_to_hundreds(mib: int, decoded: int, known: bool) -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].gpu_memory_mib = mib
    node = decode_snapshot(snapshot).nodes[0]
    assert (node.gpu_memory_mib, node.gpu_memory_known) == (decoded, known)


@pytest.mark.parametrize(
    ("gpu", "request_gpu", "decoded"),
    [
        ({}, 0, GpuRequest()),
        ({"devices": 2}, 2000, GpuRequest(2, 1000, 0)),
        ({"devices": 2, "portion_milli": 1000}, 2000, GpuRequest(2, 1000, 0)),
        ({"devices": 1, "portion_milli": 250}, 0, GpuRequest(1, 250, 0)),
        ({"devices": 2, "memory_mib": 5000}, 0, GpuRequest(2, 0, 5000)),
    ],
)
def test_only_whole_devices_are_in_the_request(
    gpu: dict[str, int], request_gpu: int, decoded: GpuRequest
) -> None:
    snapshot = small_snapshot()
    shape = snapshot.shapes.add(id="extra")
    for name, value in gpu.items():
        setattr(shape.gpu, name, value)
    extra = decode_snapshot(snapshot).shapes[0]
    assert (extra.request[2], extra.gpu) == (request_gpu, decoded)


def test_node_state_is_decoded() -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].unschedulable = True
    snapshot.nodes[0].unready_conditions.append("NotReady")
    snapshot.nodes[0].taints.add(key="k", value="v", effect=pb.TAINT_EFFECT_NO_SCHEDULE)
    snapshot.nodes[0].mig_strategy = pb.MIG_STRATEGY_MIXED
    snapshot.nodes[0].allocatable.extended["nvidia.com/mig-1g.5gb"] = 7
    first, second = decode_snapshot(snapshot).nodes
    assert (first.unready, second.unready) == ("cordoned, NotReady", "")
    assert first.taints == (Taint("k", "v", TaintEffect.NO_SCHEDULE),)
    assert (first.mig_strategy, first.has_mig, second.has_mig) == (MigStrategy.MIXED, True, False)


def test_mig_label_overrides_resources() -> None:
    snapshot = small_snapshot()
    snapshot.nodes[0].allocatable.extended["nvidia.com/mig-1g.5gb"] = 7
    snapshot.nodes[0].labels["node-role.kubernetes.io/mig-enabled"] = "false"
    snapshot.nodes[1].labels["node-role.kubernetes.io/mig-enabled"] = "True"
    assert [node.has_mig for node in decode_snapshot(snapshot).nodes] == [False, True]


def test_constraints_of_a_shape() -> None:
    snapshot = small_snapshot()
    shape = snapshot.shapes[0]
    shape.node_selector.update({"zone": "b", "arch": "arm"})
    term = shape.node_affinity.add()
    term.requirements.add(key="gen", operator=pb.SELECTOR_OPERATOR_GREATER_THAN, values=["-3"])
    shape.tolerations.add(key="k", exists=True)
    assert decode_snapshot(snapshot).shapes[0].constraints == Constraints(
        (("arch", "arm"), ("zone", "b")),
        ((Requirement("gen", Operator.GREATER_THAN, ("-3",)),),),
        (Toleration("k", True, "", TaintEffect.ANY),),
    )


def test_queue_defaults() -> None:
    top = decode_snapshot(small_snapshot()).queues[2]
    assert (top.facts.priority, top.facts.quota, top.facts.limit, top.facts.weight) == (
        100,
        (-1, -1, 4000),
        (-1, -1, -1),
        (1.0, 1.0, 1.0),
    )
    assert (top.facts.preempt_min_runtime, top.facts.reclaim_min_runtime) == (None, None)
    assert (top.facts.expected_runtime, top.facts.requeue_delay) == (None, None)


def test_queue_values() -> None:
    snapshot = small_snapshot()
    snapshot.queues[0].priority = 0
    snapshot.queues[0].gpu_milli.limit = 5000
    snapshot.queues[0].gpu_milli.over_quota_weight = -1
    snapshot.queues[0].cpu_milli.over_quota_weight = 0
    snapshot.queues[0].reclaim_min_runtime.SetInParent()
    snapshot.queues[0].expected_runtime.seconds = 90
    snapshot.queues[0].requeue_delay.SetInParent()
    top = decode_snapshot(snapshot).queues[2]
    assert (top.facts.priority, top.facts.quota, top.facts.limit) == (0, (0, -1, 4000), (-1, -1, 5000))
    assert top.facts.weight == (0.0, 1.0, -1.0)
    assert (top.facts.preempt_min_runtime, top.facts.reclaim_min_runtime) == (None, 0)
    assert (top.facts.expected_runtime, top.facts.requeue_delay) == (90 * SECOND, 0)


@pytest.mark.parametrize("queue", ["", "no such queue", "top"])
def test_missing_or_inner_queue_is_not_a_violation(queue: str) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].queue = queue
    waits = decode_snapshot(snapshot).pod_groups[1]
    assert (waits.queue, waits.facts.queue_name) == (None, queue)


def test_pod_group_without_sub_groups_has_one_pod_set() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].ClearField("min_member")
    runs, waits = decode_snapshot(snapshot).pod_groups
    assert [(s.name, s.min_available, s.tasks) for s in runs.pod_sets] == [("default", 1, (0, 1))]
    assert [(s.name, s.min_available, s.tasks) for s in waits.pod_sets] == [("default", 2, (2, 3))]
    assert (runs.root.name, runs.root.members, runs.root.min_sub_groups) == ("", runs.pod_sets, None)


def test_sub_group_tree() -> None:
    snapshot = small_snapshot()
    group = snapshot.pod_groups[1]
    group.ClearField("min_member")
    group.min_sub_group = 1
    group.topology_constraint.MergeFrom(pb.TopologyConstraint(topology="racks", preferred_level="rack"))
    group.sub_groups.add(name="Replica", min_sub_group=1)
    group.sub_groups.add(name="workers", parent="replica", min_member=1)
    group.sub_groups.add(name="leader", parent="REPLICA")
    snapshot.pods[2].sub_group = "Workers"
    snapshot.pods[3].sub_group = "leader"
    waits = decode_snapshot(snapshot).pod_groups[1]
    (replica,) = waits.root.members
    leader, workers = waits.pod_sets
    assert waits.root.topology == TopologyConstraint("racks", "", "rack")
    assert waits.root.min_sub_groups == 1
    assert (replica.name, replica.members, replica.min_sub_groups) == ("Replica", (leader, workers), 1)
    assert (leader.min_available, leader.tasks, leader.index) == (0, (3,), 1)
    assert (workers.min_available, workers.tasks, workers.index) == (1, (2,), 2)


def test_pod_of_unknown_sub_group_is_excluded_with_a_warning() -> None:
    snapshot = small_snapshot()
    snapshot.pods[3].sub_group = "no"
    cluster = decode_snapshot(snapshot)
    assert cluster.tasks[3].pod_set is None
    assert cluster.pod_groups[1].tasks == (2,)
    detail = "1 pod is never scheduled, because 'no' is not a leaf of its subgroups"
    assert cluster.warnings == (
        SnapshotWarning(WarningCode.UNKNOWN_SUB_GROUP, (1,), detail, is_about_one=True),
    )


def test_staleness_grace_can_be_negative() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].staleness_grace_period.seconds = -1
    groups = decode_snapshot(snapshot).pod_groups
    assert [group.facts.staleness_grace_period for group in groups] == [-SECOND, None]


@pytest.mark.parametrize("status", [pb.POD_STATUS_PENDING, pb.POD_STATUS_GATED, pb.POD_STATUS_SUCCEEDED])
def test_node_of_a_pod_that_occupies_none_is_ignored(status: pb.PodStatus) -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].status = status
    snapshot.pods[0].node = "long gone"
    assert decode_snapshot(snapshot).tasks[0].placement == Placement(TaskStatus(status))


@pytest.mark.parametrize(("named", "index"), [("n2", 1), ("gone", NOWHERE), ("", NOWHERE)])
def test_nominated_node_can_be_missing(named: str, index: int) -> None:
    snapshot = small_snapshot()
    snapshot.pods[2].nominated_node = named
    assert decode_snapshot(snapshot).tasks[2].facts.nominated_node == index


def test_task_priority_distinguishes_zero_from_none() -> None:
    snapshot = small_snapshot()
    snapshot.pods[2].task_priority = 0
    assert [task.facts.priority for task in decode_snapshot(snapshot).tasks] == [None, None, 0, None]


def _creation(s: pb.ClusterSnapshot, first: int, second: int) -> None:
    s.pod_groups[0].creation_time.seconds, s.pod_groups[1].creation_time.seconds = first, second
    s.queues[1].creation_time.seconds, s.queues[2].creation_time.seconds = first, second


@pytest.mark.parametrize(("first", "second", "ranks"), [(1, 2, [0, 1]), (2, 1, [1, 0]), (1, 1, [0, 1])])
def test_ranks_are_ordered_by_creation_time_and_name(first: int, second: int, ranks: list[int]) -> None:
    snapshot = small_snapshot()
    _creation(snapshot, first, second)
    cluster = decode_snapshot(snapshot)
    assert [group.rank for group in cluster.pod_groups] == ranks
    left, right, _ = cluster.queues
    assert (left.rank < right.rank) == (ranks[0] < ranks[1])


EDGES: list[Callable[[pb.ClusterSnapshot], object]] = [
    lambda s: s.ClearField("topologies"),
    lambda s: setattr(s.pod_groups[0], "min_member", 0),
    lambda s: setattr(s.nodes[0].allocatable, "memory_bytes", 2**53),
    lambda s: setattr(s.queues[0].gpu_milli, "limit", -1),
    lambda s: setattr(s.now, "seconds", 0),
    lambda s: s.shapes.add(id="asks for nothing"),
]


@pytest.mark.parametrize("edit", EDGES)
def test_boundary_values_are_accepted(edit: Callable[[pb.ClusterSnapshot], object]) -> None:
    snapshot = small_snapshot()
    edit(snapshot)
    decode_snapshot(snapshot)
