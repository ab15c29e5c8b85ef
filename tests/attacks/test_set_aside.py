"""The server sets rows aside, if the caller says so: one invalid row does not refuse the others."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc
import pytest
from tenure.client import Client, InvalidSnapshot, StateSession
from tenure.client.errors import error_of
from tenure.v1 import decide_pb2, state_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.wire.columns import to_columns
from tenure.wire.deltas import compute_delta

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

DECIDE: Final = "/tenure.v1.DecisionService/Decide"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, timeout=30) as client:
        yield client


def decide(address: str, snapshot: pb.ClusterSnapshot) -> decide_pb2.DecideResponse:
    """Decide with SET_ASIDE."""
    request = decide_pb2.DecideRequest(snapshot=snapshot, faults=state_pb2.FAULTS_SET_ASIDE)
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(DECIDE, None, decide_pb2.DecideResponse.FromString)
        response: decide_pb2.DecideResponse = call(request.SerializeToString(), timeout=30)
    return response


def rows(found: state_pb2.SetAsideRows) -> list[str]:
    return [f"{row.field} {row.key}{' dependent' if row.dependent else ''}" for row in found.rows]


def bound(response: decide_pb2.DecideResponse) -> list[str]:
    decisions = (decision for group in response.groups for decision in group.decisions)
    return sorted(decision.bind.pod for decision in decisions if decision.HasField("bind"))


WAITING: Final = ["waits-0", "waits-1"]
RUNS: Final = ["pod_groups[0] runs dependent", "pods[0] runs-0 dependent", "pods[1] runs-1 dependent"]
INVALID: Final[dict[str, tuple[Callable[[Any], Any], list[str]]]] = {
    "name of a pending pod": (
        lambda s: s.pods.add(uid="bad", name="x" * 254, pod_group="waits", shape="gpu", status=1),
        ["pods[4] bad"],
    ),
    "unknown shape": (
        lambda s: s.pods.add(uid="bad", pod_group="waits", shape="gone", status=1),
        ["pods[4] bad"],
    ),
    "duplicate pod": (lambda s: s.pods.add().CopyFrom(s.pods[2]), ["pods[4] waits-0"]),
    "pod without a uid": (lambda s: s.pods.add(pod_group="waits", shape="gpu", status=1), ["pods[4] "]),
    "pod group with its pods": (
        lambda s: (
            s.pod_groups.add(uid="bad", queue="q" * 300, creation_time=s.now),
            s.pods.add(uid="its", pod_group="bad", shape="gpu", status=1),
        ),
        ["pod_groups[2] bad", "pods[4] its dependent"],
    ),
    "running pod with its pod group": (
        lambda s: setattr(s.pods[0], "status", 99),
        ["pod_groups[0] runs dependent", "pods[0] runs-0", "pods[1] runs-1 dependent"],
    ),
    "shape with its pods": (
        lambda s: setattr(s.shapes[1].requests, "cpu_milli", -1),
        [
            "pod_groups[0] runs dependent",
            "pods[0] runs-0 dependent",
            "pods[1] runs-1 dependent",
            "shapes[1] half",
        ],
    ),
    "queue with its children": (
        lambda s: (s.queues.add(name="bad", parent="gone"), s.queues.add(name="below", parent="bad")),
        ["queues[3] bad", "queues[4] below dependent"],
    ),
    "topology with its pod groups": (
        lambda s: (
            s.topologies.add(name="bad"),
            s.pod_groups.add(
                uid="its", queue="left", creation_time=s.now, topology_constraint={"topology": "bad"}
            ),
        ),
        ["pod_groups[2] its", "topologies[1] bad"],
    ),
    "in-flight group": (lambda s: s.in_flight_groups.add(id="bad"), ["in_flight_groups[0] bad"]),
    "eviction record": (
        lambda s: s.eviction_history.add(victim="runs", preemptor="waits"),
        ["eviction_history[0] runs for waits"],
    ),
    "labels of a node": (
        lambda s: s.nodes.add(name="bad", labels={"k": "v" * 5_000}),
        ["nodes[2] bad"],
    ),
}


@pytest.mark.parametrize("kind", INVALID)
def test_invalid_row_is_listed_and_the_others_are_decided(kind: str, address: str, client: Client) -> None:
    damage, expected = INVALID[kind]
    snapshot = small_snapshot()
    damage(snapshot)
    with pytest.raises(InvalidSnapshot):
        client.decide(snapshot)
    response = decide(address, snapshot)
    assert rows(response.set_aside) == expected
    assert response.set_aside.total == len(expected)
    assert bound(response) == WAITING
    evicted = [one for group in response.groups for one in group.decisions if one.HasField("evict")]
    assert not evicted
    assert decide(address, snapshot) == response


@pytest.mark.parametrize("kind", INVALID)
def test_pushed_snapshot_and_delta_set_the_same_rows_aside(kind: str, client: Client) -> None:
    damage, expected = INVALID[kind]
    if kind == "duplicate pod":
        return  # two rows of one delta
    before, after = small_snapshot(), small_snapshot()
    damage(after)
    after.version += 1
    told: list[state_pb2.SetAsideRows] = []
    with StateSession(client, on_set_aside=told.append) as session:
        session.push(before)
        session.apply(compute_delta(before, after))
        by_delta = session.decide()
        session.push(after)
        pushed = session.decide()
    assert not told[0].rows
    assert [row.key for row in told[1].rows] == [row.key for row in told[2].rows]
    assert sorted(row.key for row in told[2].rows) == sorted(
        row.split(" ", 1)[1].removesuffix(" dependent") for row in expected
    )
    assert bound(by_delta) == bound(pushed) == WAITING


def test_row_is_accepted_when_it_is_sent_valid_later(client: Client) -> None:
    first, bad, good = small_snapshot(), small_snapshot(), small_snapshot()
    bad.pod_groups[1].queue = "q" * 254
    bad.version, good.version = 8, 9
    told: list[state_pb2.SetAsideRows] = []
    with StateSession(client, on_set_aside=told.append) as session:
        session.push(first)
        session.apply(compute_delta(first, bad))
        assert bound(session.decide()) == []
        assert told[-1].rows[0].field == "upserts.pod_groups[0]"
        session.apply(compute_delta(bad, good))
        assert bound(session.decide()) == WAITING
    assert not told[-1].rows


def test_delta_that_refuses_is_refused_for_its_own_rows_alone(client: Client) -> None:
    bad = small_snapshot()
    bad.pod_groups[0].eviction_count = -1
    state = client.put_snapshot("own-rows", bad, on_set_aside=lambda found: None)
    delta = state_pb2.StateDelta(base=state, version=8, now=bad.now)
    delta.upserts.queues.add(name="new")
    state = client.apply_delta(delta)
    later = state_pb2.StateDelta(base=state, version=9, now=bad.now)
    later.upserts.queues.add(name="bad", parent="gone")
    with pytest.raises(InvalidSnapshot, match=r"upserts\.queues\[0\]\.parent"):
        client.apply_delta(later)
    assert client.get_state("test")[0].version == 8


def test_running_pod_that_is_set_aside_still_uses_its_node(address: str, client: Client) -> None:
    """Both nodes have two GPUs. With the running pods, the pending gang of four does not fit."""
    snapshot = small_snapshot()
    for i in (2, 3):
        snapshot.pods.add(uid=f"waits-{i}", pod_group="waits", shape="gpu", status=1)
    snapshot.pod_groups[1].min_member = 4
    snapshot.pod_groups[0].eviction_count = -1
    assert not bound(decide(address, snapshot))
    state = client.put_snapshot("room", snapshot, on_set_aside=lambda found: None)
    nodes = {node.name: node for node in client.get_state("test")[1].nodes}
    assert state.version == 7
    assert (nodes["n1"].allocatable.gpu_milli, nodes["n1"].allocatable.pods) == (0, 8)
    assert nodes["n2"].allocatable.gpu_milli == 2000


def test_pods_on_a_node_that_is_set_aside_are_not_evicted_and_no_others_placed(address: str) -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].min_member = 2
    snapshot.nodes[0].taints.add(key="k", effect=99)
    response = decide(address, snapshot)
    assert rows(response.set_aside) == ["nodes[0] n1"]
    assert not [one for group in response.groups for one in group.decisions if one.HasField("evict")]
    assert {one.bind.node for group in response.groups for one in group.decisions if one.bind.node} == {"n2"}


def test_pods_in_columns_are_named_by_their_position_in_the_columns(client: Client) -> None:
    snapshot = small_snapshot()
    snapshot.pods.add(uid="bad", name="x" * 254, pod_group="waits", shape="gpu", status=1)
    told: list[state_pb2.SetAsideRows] = []
    client.put_snapshot("columns", to_columns(snapshot), on_set_aside=told.append)
    assert rows(told[0]) == ["pod_columns[3] bad"]
    assert "has 254 characters" in told[0].rows[0].violations[0].description


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        (lambda columns: columns.sub_group.append(0), "pod_columns.sub_group"),
        (lambda columns: columns.shape.pop(), "pod_columns.shape"),
        (lambda columns: columns.pod_group.__setitem__(0, 99), "pod_columns[0].pod_group"),
    ],
    ids=["too long", "too short", "index without a text"],
)
@pytest.mark.parametrize("text", ["n", "x" * 254], ids=["", "and a long text"])
def test_columns_that_cannot_be_read_are_refused(
    damage: Callable[[Any], Any], field: str, text: str, address: str
) -> None:
    snapshot = small_snapshot()
    snapshot.nodes.add(name=text)
    columns = to_columns(snapshot)
    damage(columns.pod_columns)
    request = decide_pb2.DecideRequest(snapshot=columns, faults=state_pb2.FAULTS_SET_ASIDE)
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(DECIDE)(request.SerializeToString())
    refused = error_of(caught.value, address)
    assert isinstance(refused, InvalidSnapshot)
    assert field in [violation.field for violation in refused.violations]


REFUSED: Final[dict[str, Callable[[Any], Any]]] = {
    "cluster_id": lambda s: s.ClearField("cluster_id"),
    "now": lambda s: s.ClearField("now"),
    "nodes": lambda s: [
        s.nodes.add(name=f"m{i}").allocatable.extended.update({f"x/{i}": 1}) for i in range(300)
    ],
    "node_pool": lambda s: setattr(s, "node_pool", "x" * 254),
}


@pytest.mark.parametrize("field", REFUSED)
def test_violation_outside_of_rows_refuses_the_request(field: str, client: Client) -> None:
    snapshot = small_snapshot()
    REFUSED[field](snapshot)
    with pytest.raises(InvalidSnapshot) as caught:
        client.put_snapshot("refused", snapshot, on_set_aside=lambda found: None)
    assert [violation.field for violation in caught.value.violations] == [field]


def test_chunks_that_differ_in_what_happens_to_invalid_rows_are_refused(address: str) -> None:
    """Otherwise a later chunk could add texts without limits to a snapshot that is to be refused."""
    whole, more = small_snapshot(), pb.ClusterSnapshot()
    more.pods.add(uid="bad", name="x" * 254, pod_group="waits", shape="gpu", status=1)
    chunks = [
        state_pb2.PutSnapshotRequest(epoch="mixed", chunk=whole),
        state_pb2.PutSnapshotRequest(chunk=more, last_chunk=True, faults=state_pb2.FAULTS_SET_ASIDE),
    ]
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        DecisionServiceStub(channel).PutSnapshot(iter(chunks), timeout=30)  # type: ignore[no-untyped-call]
    refused = error_of(caught.value, address)
    assert isinstance(refused, InvalidSnapshot)
    assert [violation.field for violation in refused.violations] == ["faults"]


def test_list_is_bounded_and_counts_all_rows(address: str) -> None:
    snapshot = small_snapshot()
    for i in range(3_000):
        snapshot.pods.add(uid=f"bad-{i}", pod_group="waits", shape="gone", status=1)
    found = decide(address, snapshot).set_aside
    assert (len(found.rows), found.total) == (1_000, 3_000)


def test_valid_snapshot_has_the_same_response_with_set_aside(address: str, client: Client) -> None:
    response = decide(address, small_snapshot())
    assert response == client.decide(small_snapshot())
    assert not response.HasField("set_aside")
