"""Decoding and encoding of resource claims, NUMA zones, pod affinity and blocked pods."""

from google.protobuf import text_format
from tenure.codec.decode import decode_snapshot
from tenure.codec.nodes import encode_placement
from tenure.solver.model.claims import ResourceClaim
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.node import NumaPolicy
from tenure.solver.model.placement import NumaPlacement, TaskStatus
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.model.snapshot_warning import WarningCode
from tenure.v1 import resources_pb2
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.small_snapshot import small_snapshot

CLAIMS = """
nodes { name: "n3" allocatable { cpu_milli: 8000 gpu_milli: 1000 pods: 10 }
        devices { key: "gpu.example.com" value: 4 } devices { key: "nic.example.com" value: 2 } }
pods { uid: "waits-2" pod_group: "waits" shape: "none" status: POD_STATUS_PENDING
       resource_claims: "own" resource_claims: "shared" }
pods { uid: "waits-3" pod_group: "waits" shape: "none" status: POD_STATUS_PENDING resource_claims: "shared" }
shapes { id: "none" }
resource_claims { id: "shared" queue: "right" other_consumers: 2 node: "n3"
                requests { device_class: "gpu.example.com" count: 3 }
                requests { device_class: "nic.example.com" count: 1 } }
resource_claims { id: "own" from_template: true requests { device_class: "gpu.example.com" count: 2 } }
"""
GPUS, NICS = 4, 5
"""Resource slots of the two device classes. They follow the fixed slots, ordered by name."""


def decoded(text: str) -> Cluster:
    return decode_snapshot(text_format.Merge(text, small_snapshot()))


def test_devices_have_a_slot_by_class_and_gpus_count_as_gpus_too() -> None:
    cluster = decoded(CLAIMS)
    assert cluster.resource_names[GPUS:] == ("device class gpu.example.com", "device class nic.example.com")
    node = cluster.nodes[2]
    assert (node.allocatable[GPU], node.allocatable[GPUS], node.allocatable[NICS]) == (5000, 4, 2)
    assert (node.claimable_gpu_milli, node.has_only_claimable_gpus) == (4000, False)


def test_claims_are_ordered_by_id() -> None:
    own, shared = decoded(CLAIMS).claims
    assert own == ResourceClaim(0, "own", ((GPU, 2000), (GPUS, 2)), from_template=True)
    amounts = ((GPU, 3000), (GPUS, 3), (NICS, 1))
    assert shared == ResourceClaim(1, "shared", amounts, "right", node=2, other_consumers=2)
    assert (own.gpu_milli, shared.gpu_milli) == (2000, 3000)


def test_pending_pods_with_a_claim_on_a_missing_node_are_excluded_with_a_warning() -> None:
    gone = text_format.Merge(CLAIMS, small_snapshot())
    del gone.nodes[2]
    gone.pods[1].resource_claims.append("shared")
    cluster = decode_snapshot(gone)
    status = {task.facts.uid: task.placement.status for task in cluster.tasks}
    assert status["waits-2"] is status["waits-3"] is TaskStatus.UNKNOWN
    assert (status["waits-1"], status["runs-1"]) == (TaskStatus.PENDING, TaskStatus.RUNNING)
    (warning,) = (each for each in cluster.warnings if each.code is WarningCode.UNKNOWN_NODE)
    assert warning.detail == "ignored: 2 pods with resource claims on nodes that are not in the snapshot"
    assert [cluster.pod_groups[index].facts.uid for index in warning.pod_groups] == ["waits"]


def test_claim_of_one_pod_is_part_of_its_request_and_a_shared_one_is_not() -> None:
    first, second = list(decoded(CLAIMS).tasks)[4:]
    assert (first.facts.claims, first.shape.shared_claims, first.shape.claimed_gpu_milli) == (
        (0, 1),
        (1,),
        2000,
    )
    assert (first.shape.request[GPU], first.shape.request[GPUS], first.shape.request[NICS]) == (2000, 2, 0)
    assert (second.facts.claims, second.shape.shared_claims, second.shape.shared_gpu_milli) == (
        (1,),
        (1,),
        3000,
    )
    assert second.shape.request[GPU] == 0
    assert not second.shape.is_cpu_only


def test_pods_with_equal_claims_of_their_own_are_interchangeable() -> None:
    more = CLAIMS.replace('resource_claims: "shared"', "")
    tasks = decoded(
        more
        + """
        resource_claims { id: "other" requests { device_class: "gpu.example.com" count: 2 } }
        pods { uid: "waits-4" pod_group: "waits" shape: "none" status: POD_STATUS_PENDING
               resource_claims: "other" }
        """
    ).tasks
    first, second = tasks[4], tasks[6]
    assert first.facts.claims != second.facts.claims
    assert first.shape is second.shape


def test_excessive_device_count_is_not_a_violation() -> None:
    largest = CLAIMS.replace("count: 2", f"count: {2**63 - 1}")
    own, _ = decoded(largest).claims
    assert own.amounts == ((GPU, 10_001_000), (GPUS, 10_001))


ZONES = """
nodes { name: "n3" allocatable { cpu_milli: 8000 gpu_milli: 2000 pods: 10 }
        numa_policy: NUMA_POLICY_RESTRICTED
        numa_zones { id: "z9" allocatable { cpu_milli: 4000 gpu_milli: 1000 }
                     available { cpu_milli: 1000 } }
        numa_zones { id: "z1" allocatable { extended { key: "x/y" value: 3 } } } }
pods { uid: "runs-2" pod_group: "runs" shape: "gpu" status: POD_STATUS_RUNNING node: "n3"
       numa_placement { zone: "z1" amounts { extended { key: "x/y" value: 2 } } }
       numa_placement { zone: "z9" amounts { cpu_milli: 3000 } } }
shapes { id: "sure" guaranteed: true }
"""


def test_zones_preserve_their_order_and_availability_is_optional() -> None:
    cluster = decoded(ZONES)
    node = cluster.nodes[2]
    first, second = node.numa_zones
    assert (node.numa_policy, first.id, second.id) == (NumaPolicy.RESTRICTED, "z9", "z1")
    assert (first.allocatable, first.available) == ((4000, 0, 1000, 0, 0), (1000, 0, 0, 0, 0))
    assert (second.allocatable, second.available) == ((0, 0, 0, 0, 3), None)
    assert [shape.is_guaranteed for shape in cluster.shapes] == [False, False, True]


def test_a_placement_names_zones_by_position() -> None:
    runs = decoded(ZONES).tasks[2]
    assert runs.placement.zones == (NumaPlacement(0, ((CPU, 3000),)), NumaPlacement(1, ((4, 2),)))


def test_placement_with_a_missing_zone_is_unknown() -> None:
    assert decoded(ZONES.replace('zone: "z9"', 'zone: "gone"')).tasks[2].placement.zones == ()
    assert decoded(ZONES.replace('node: "n3"', 'node: "n2"')).tasks[2].placement.zones == ()


def test_placement_is_encoded_with_zone_names() -> None:
    cluster = decoded(ZONES)
    zones = (NumaPlacement(0, ((CPU, 3000), (GPU, 1000))), NumaPlacement(1, ((4, 2),)))
    assert list(encode_placement(cluster, 2, zones)) == [
        resources_pb2.NumaPlacement(
            zone="z9", amounts=resources_pb2.Resources(cpu_milli=3000, gpu_milli=1000)
        ),
        resources_pb2.NumaPlacement(zone="z1", amounts=resources_pb2.Resources(extended={"x/y": 2})),
    ]


AFFINITY = """
shapes { id: "near" pod_affinity { topology_key: "rack" match_labels { key: "b" value: "2" }
                                   match_labels { key: "a" value: "1" } }
         pod_anti_affinity { topology_key: "host" match_labels { key: "a" value: "1" } } }
pods { uid: "waits-2" pod_group: "waits" shape: "near" status: POD_STATUS_PENDING
       labels { key: "b" value: "2" } labels { key: "a" value: "1" } }
"""


def test_pod_affinity_terms_and_labels_are_sorted() -> None:
    task = decoded(AFFINITY).tasks[4]
    assert task.shape.constraints.pod_affinity == (PodAffinityTerm((("a", "1"), ("b", "2")), "rack"),)
    assert task.shape.constraints.pod_anti_affinity == (PodAffinityTerm((("a", "1"),), "host"),)
    assert task.facts.labels == (("a", "1"), ("b", "2"))


def test_labels_without_affinity_reference_are_dropped() -> None:
    snapshot: ClusterSnapshot = small_snapshot()
    snapshot.pods[0].labels["a"] = "1"
    assert decode_snapshot(snapshot).tasks[0].facts.labels == ()


def test_blocked_reason_of_a_pod_is_decoded() -> None:
    snapshot: ClusterSnapshot = small_snapshot()
    snapshot.pods[2].blocked_reason = "no such volume"
    assert [task.facts.blocked_reason for task in decode_snapshot(snapshot).tasks] == [
        "",
        "",
        "no such volume",
        "",
    ]
