"""Hostile or invalid objects: status of the call and health of the server afterwards.

Each test is a row of a matrix of hostile input. The name of the test begins with the name of the row.
"""

import math
from collections.abc import Iterator

import grpc
import pytest
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.explain_pb2 import ExplainRequest

from tests.attacks.hostile_requests import field, rejected_fields, send_request
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=30) as client:
        yield client


def decide(snapshot: pb.ClusterSnapshot) -> DecideResponse:
    return Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()


def test_h1_queue_cycle_is_reported_with_its_names(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.queues[0].parent = "left"
    assert (
        rejected_fields(client, snapshot)[0]
        == "queues[0].parent: is its own ancestor: 'top' -> 'left' -> 'top'"
    )


def test_h1_queue_that_is_its_own_parent_is_rejected(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.queues[0].parent = "top"
    assert rejected_fields(client, snapshot) == ("queues[0].parent: is its own ancestor: 'top' -> 'top'",)


def test_h1_missing_parent_is_rejected(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.queues[1].parent = "gone"
    assert rejected_fields(client, snapshot) == ("queues[1].parent: 'gone' does not exist",)


def test_h1_queue_tree_is_limited_to_32_levels(client: Client) -> None:
    for depth, is_fine in ((32, True), (33, False), (4_000, False)):
        snapshot = small_snapshot()
        snapshot.queues.extend(pb.Queue(name=f"d{i}", parent=f"d{i - 1}" if i else "") for i in range(depth))
        if is_fine:
            assert client.decide(snapshot).outcomes
        else:
            assert "queues[35].parent: is more than 32 levels deep" in rejected_fields(client, snapshot)


def test_h1_several_roots_are_accepted(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.queues.add(name="another-top")
    assert client.decide(snapshot).outcomes


AMOUNTS = {
    "s.nodes[0].allocatable.cpu_milli = -1": "nodes[0].allocatable.cpu_milli",
    "s.nodes[0].allocatable.memory_bytes = 2**63 - 1": "nodes[0].allocatable.memory_bytes",
    "s.nodes[0].allocatable.extended['x/y'] = -2**63": "nodes[0].allocatable.extended['x/y']",
    "s.shapes[0].requests.cpu_milli = -5": "shapes[0].requests.cpu_milli",
    "s.shapes[0].gpu.devices = -1": "shapes[0].gpu.devices",
    "s.shapes[1].gpu.portion_milli = 0": "shapes[1].gpu.portion_milli",
    "s.shapes[1].gpu.portion_milli = -2**63": "shapes[1].gpu.portion_milli",
    "s.queues[0].gpu_milli.quota = -2": "queues[0].gpu_milli.quota",
    "s.queues[0].gpu_milli.limit = 2**63 - 1": "queues[0].gpu_milli.limit",
    "s.queues[0].gpu_milli.over_quota_weight = math.nan": "queues[0].gpu_milli.over_quota_weight",
    "s.queues[0].gpu_milli.over_quota_weight = math.inf": "queues[0].gpu_milli.over_quota_weight",
    "s.queues[0].gpu_milli.over_quota_weight = -math.inf": "queues[0].gpu_milli.over_quota_weight",
    "s.queues[0].gpu_milli.over_quota_weight = 1e308": "queues[0].gpu_milli.over_quota_weight",
    "s.pod_groups[0].eviction_count = -1": "pod_groups[0].eviction_count",
}


@pytest.mark.parametrize("how", AMOUNTS)
def test_h2_invalid_amount_is_rejected_by_field(client: Client, how: str) -> None:
    snapshot = small_snapshot()
    exec(how, {"s": snapshot, "math": math})
    (violation,) = rejected_fields(client, snapshot)
    assert violation.startswith(f"{AMOUNTS[how]}: ")


def test_h2_sums_beyond_64_bits_are_rejected(client: Client) -> None:
    snapshot = small_snapshot()
    for i in range(600):
        snapshot.nodes.add(name=f"big-{i}").allocatable.cpu_milli = 2**53
    assert rejected_fields(client, snapshot) == (f"nodes: amounts of cpu add up to more than {2**62}",)


def test_h2_number_of_resource_names_is_limited_before_decoding(client: Client) -> None:
    snapshot = small_snapshot()
    for i in range(5_000):
        snapshot.nodes.add(name=f"m{i}").allocatable.extended[f"example.com/r{i}"] = 1
    (violation,) = rejected_fields(client, snapshot)
    assert violation == "nodes: with shapes and claims name 5004 kinds of resources, more than 256"


@pytest.mark.parametrize("minimum", [10**9, 2**31 - 1])
def test_h3_excessive_minimum_is_pending_without_extra_time(client: Client, minimum: int) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].min_member = minimum
    answer = client.decide(snapshot, timeout=30)  # a loop over the minimum takes longer
    (outcome,) = (found for found in answer.outcomes if found.pod_group == "waits")
    assert outcome.HasField("reason")


def test_h3_negative_minimum_is_rejected(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].min_member = -1
    assert rejected_fields(client, snapshot) == ("pod_groups[1].min_member: -1 is negative",)


def test_h3_minimum_of_zero_is_accepted(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].min_member = 0
    assert client.decide(snapshot).outcomes


def test_h3_claim_with_an_excessive_device_count_is_accepted(client: Client) -> None:
    snapshot = small_snapshot()
    claim = snapshot.resource_claims.add(id="c")
    claim.requests.add(device_class="gpu.example.com", count=2**63 - 1)
    snapshot.pods[2].resource_claims.append("c")
    assert client.decide(snapshot).outcomes


DUPLICATES = {
    "nodes": "nodes[2].name: 'n1' is already used by element 0",
    "queues": "queues[3].name: 'top' is already used by element 0",
    "pod_groups": "pod_groups[2].uid: 'runs' is already used by element 0",
    "pods": "pods[4].uid: 'runs-0' is already used by element 0",
    "shapes": "shapes[2].id: 'gpu' is already used by element 0",
    "topologies": "topologies[1].name: 'racks' is already used by element 0",
}


@pytest.mark.parametrize("name", DUPLICATES)
def test_h4_duplicate_is_rejected_with_both_positions(client: Client, name: str) -> None:
    snapshot = small_snapshot()
    rows = getattr(snapshot, name)
    rows.append(rows[0])
    assert rejected_fields(client, snapshot) == (DUPLICATES[name],)


def test_h4_pod_on_an_unknown_node_is_excluded_with_a_warning() -> None:
    snapshot, columns = small_snapshot(), small_snapshot()
    snapshot.pods[0].node = "gone"
    columns.pods[0].node = "gone"
    columns.pod_columns.MergeFrom(
        pb.PodColumns(
            string_table=["runs", "gpu", "gone"],
            uid=["runs-0"],
            pod_group=[0],
            shape=[1],
            status=[6],
            node=[2],
        )
    )
    del columns.pods[0]
    for given in (snapshot, columns):
        answer = decide(given)
        (warning,) = (w for w in answer.warnings if w.code == service_pb.WARNING_CODE_UNKNOWN_NODE)
        assert warning.message == "ignored: 1 pod on nodes that are not in the snapshot"
        assert (list(warning.pod_groups), warning.count) == (["runs"], 1)
        steps = [step for group in answer.groups for step in group.decisions]
        assert "runs-0" not in {step.evict.pod for step in steps if step.HasField("evict")}
        bound = {step.bind.pod: step.bind.node for step in steps if step.HasField("bind")}
        assert set(bound) == {"waits-0", "waits-1"}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("s.pods[0].pod_group = 'gone'", "pods[0].pod_group: there is no pod group with uid 'gone'"),
        ("s.pods[0].shape = 'gone'", "pods[0].shape: there is no shape with id 'gone'"),
    ],
)
def test_h4_pod_of_an_unknown_pod_group_or_shape_is_rejected(client: Client, how: str, says: str) -> None:
    snapshot = small_snapshot()
    exec(how, {"s": snapshot})
    assert rejected_fields(client, snapshot) == (says,)


def test_h4_pod_group_of_an_unknown_queue_gets_a_reason_and_the_rest_is_decided(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].queue = "gone"
    (outcome,) = (found for found in client.decide(snapshot).outcomes if found.pod_group == "waits")
    assert outcome.pending or outcome.HasField("reason")


def test_h4_pod_group_of_an_unknown_queue_can_be_explained() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[1].queue = "gone"
    request = ExplainRequest(snapshot=snapshot, why_pending={"pod_group": "waits"})
    with run_server() as (_, address):
        ended = send_request(
            address, request.SerializeToString(), method="/tenure.v1.DecisionService/Explain"
        )
    assert ended.code is grpc.StatusCode.OK


ENUMS = {
    "s.pods[0].status = 99": "pods[0].status",
    "s.nodes[0].mig_strategy = 99": "nodes[0].mig_strategy",
    "s.nodes[0].numa_policy = 99": "nodes[0].numa_policy",
    "s.nodes[0].taints.add(key='k', effect=99)": "nodes[0].taints[0].effect",
    "s.pod_groups[0].preemptibility = 99": "pod_groups[0].preemptibility",
}


@pytest.mark.parametrize("how", ENUMS)
def test_h5_unknown_enum_value_is_rejected(client: Client, how: str) -> None:
    snapshot = small_snapshot()
    exec(how, {"s": snapshot})
    (violation,) = rejected_fields(client, snapshot)
    assert violation == f"{ENUMS[how]}: 99 is not a value of this version of the contract"


def test_h5_unknown_preemptibility_annotation_protects() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations["kai.scheduler/preemptibility"] = "maybe"
    answer = decide(snapshot)
    assert service_pb.WARNING_CODE_UNKNOWN_PREEMPTIBILITY in {warning.code for warning in answer.warnings}
    steps = [step for group in answer.groups for step in group.decisions]
    assert not any(step.HasField("evict") for step in steps)


def test_h5_unknown_fields_change_nothing(client: Client) -> None:
    snapshot = small_snapshot()
    newer = pb.ClusterSnapshot.FromString(
        snapshot.SerializeToString() + field(500, b"of a newer version") + field(501, b"\xff\xfe")
    )
    assert client.decide(newer).SerializeToString() == client.decide(snapshot).SerializeToString()
