"""No object of a tenant stops the others: what a server would refuse is set aside by the adapter, and named.

Each attack is an object that an API server accepts, observed by the adapter and sent to a real server beside
an honest pod, which is bound.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import Client, StateSession
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.limits.namespace_shares import Claimant, Cost, left_out
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.state_pb2 import SetAsideRows
from tenure.wire.row_limits import DEFAULT_MAX_ROWS, ELEMENTS, ListLimits, SenderLimits

from tests.attacks.tenants.forging_client import evict
from tests.attacks.tenants.hostile_objects_campaign import HonestCluster, run
from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)
from tests.server.servers import run_server

LONG: Final = "x" * 254
RULE: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=60) as client:
        yield client


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {RULE: terms}}}


def owned_by(name: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "u", "controller": True}
    return {"ownerReferences": [owner]}


def self_affine(labels: dict[str, str]) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}
    return {"affinity": {"podAffinity": {RULE: [term]}}}


MANY_VALUES: Final = {"key": "k", "operator": "In", "values": [f"{i:063}" for i in range(20_000)]}
MANY_LABELS: Final = {f"label-{i}": "v" * 63 for i in range(16_000)}
SET_ASIDE: Final[dict[str, tuple[list[tuple[str, dict[str, Any]]], str]]] = {
    "queue annotation": (
        [("pods", pod("p", meta={"annotations": {names.VOLCANO_QUEUE: LONG}}))],
        "queue: has 254 characters, more than 253, the limit max_name_length",
    ),
    "queue annotation with control characters": (
        [("pods", pod("p", meta={"annotations": {names.VOLCANO_QUEUE: "\x1b[2J\n" * 60}}))],
        "queue: has 300 characters",
    ),
    "name of an owner": (
        [("pods", pod("p", meta=owned_by("o" * 100_000)))],
        "name: has 100000 characters",
    ),
    "task of a Volcano pod": (
        [
            ("volcano_pod_groups", pod_group("v", minTaskMember={"a": 1})),
            (
                "pods",
                pod(
                    "p",
                    meta={"annotations": {names.VOLCANO_POD_GROUPS[0]: "v", names.VOLCANO_TASK: LONG}},
                ),
            ),
        ],
        "sub_groups[1].name: has 254 characters",
    ),
    "queue of a pod group": ([("kai_pod_groups", pod_group("g", queue=LONG))], "queue: has 254 characters"),
    "name of a subgroup": (
        [("kai_pod_groups", pod_group("g", subGroups=[{"name": LONG}]))],
        "sub_groups[0].name: has 254 characters",
    ),
    "thousands of subgroups": (
        [("kai_pod_groups", pod_group("g", subGroups=[{"name": f"s{i}"} for i in range(3_000)]))],
        "it has 3,000 subgroups, more than 1,000",
    ),
    "subgroups of one name": (
        [("kai_pod_groups", pod_group("g", subGroups=[{"name": "a"}, {"name": "A"}]))],
        "names of its subgroups are empty or repeated",
    ),
    "node affinity of 1.3 MB": (
        [("pods", pod("p", spec=affinity(MANY_VALUES)))],
        "its requests and constraints: it has 1,",
    ),
    "1.3 MB of labels that its own affinity selects": (
        [("pods", pod("p", meta={"labels": MANY_LABELS}, spec=self_affine(MANY_LABELS)))],
        "it has 1,",
    ),
    "labels of a node": (
        [("nodes", node("n2", labels=MANY_LABELS))],
        "it has 1,",
    ),
    "levels of a topology": (
        [
            (
                "topologies",
                {
                    "metadata": {"name": "t"},
                    "spec": {"levels": [{"nodeLabel": f"l{i}"} for i in range(40_000)]},
                },
            )
        ],
        "it has 40,000 levels, more than 32",
    ),
    "parent of a queue": ([("kai_queues", queue("child", parentQueue=LONG))], "parent: has 254 characters"),
}


@pytest.mark.parametrize("attack", SET_ASIDE)
def test_object_beyond_the_limits_is_set_aside_and_named_and_the_honest_pod_is_bound(
    attack: str, client: Client
) -> None:
    objects, reason = SET_ASIDE[attack]
    cluster = HonestCluster(client)
    honest = cluster.add_honest_pod("honest")
    for collection, item in objects:
        cluster.world.put(collection, item)
    assert cluster.is_bound(honest, as_snapshot=True)
    (found,) = cluster.builder.set_aside.take_new()
    assert reason in found.reason.text
    assert found.reason.text.isprintable()
    assert len(found.reason.text) < 500
    assert any(reason[:20] in warning.text for warning in cluster.builder.warnings.active) or (
        found.target.kind == "Topology"
    )
    cluster.forget()
    assert cluster.is_bound(honest, as_snapshot=True)
    assert not cluster.builder.set_aside.take_new(), "an object is named once"


ACCEPTED: Final[dict[str, list[tuple[str, dict[str, Any]]]]] = {
    "1.3 MB of an expression that is not supported": [
        ("pods", pod("p", spec=affinity({"key": "k", "operator": "Gt", "values": ["x" * 1_300_000]})))
    ],
    "integer beyond 64 bits": [
        ("pods", pod("p", spec=affinity({"key": "k", "operator": "Gt", "values": ["9" * 30]})))
    ],
    "GPU group with the name of a missing one": [
        (
            "pods",
            running(
                "p",
                on="theirs",
                meta={
                    "annotations": {names.GPU_FRACTION: "0.5", names.GPU_DEVICES: "2"},
                    "labels": {names.GPU_GROUP: "unknown-uid-p-0"},
                },
            ),
        )
    ],
    "annotations of 256 KiB": [
        (
            "pods",
            pod(
                "p",
                meta={"annotations": dict.fromkeys((names.PREEMPTIBILITY, *names.DURATIONS), "1" * 80_000)},
            ),
        ),
        ("kai_pod_groups", pod_group("g", annotations=dict.fromkeys(names.STORED, "1" * 40_000))),
    ],
    "times out of range": [
        (
            "pods",
            running(
                "p",
                on="theirs",
                meta={
                    "creationTimestamp": "9999-12-31T23:59:59Z",
                    "deletionTimestamp": "9999-12-31T23:59:59Z",
                    "annotations": {names.LAST_START: "9999-12-31T23:59:59Z"},
                },
                status={"startTime": "0001-01-01T00:00:00Z"},
            ),
        )
    ],
    "quantities beyond 64 bits": [
        (
            "pods",
            running(f"p{i}", on="theirs", requests={"cpu": "9E", "memory": "16Ei", "nvidia.com/gpu": "9E"}),
        )
        for i in range(50)
    ],
    "resources that no node offers": [
        ("pods", pod("p", requests={f"example.com/r{i}": "1" for i in range(3_000)}))
    ],
}


@pytest.mark.parametrize("attack", ACCEPTED)
def test_object_with_absurd_values_has_a_row_that_the_server_accepts(attack: str, client: Client) -> None:
    cluster = HonestCluster(client)
    honest = cluster.add_honest_pod("honest")
    for collection, item in ACCEPTED[attack]:
        cluster.world.put(collection, item)
    assert cluster.is_bound(honest, as_snapshot=True)
    assert not cluster.builder.set_aside.objects


def test_hostile_pod_that_arrives_later_is_set_aside_until_it_is_fixed(client: Client) -> None:
    cluster = HonestCluster(client)
    first = cluster.add_honest_pod("first")
    assert cluster.is_bound(first, as_snapshot=True)
    hostile = pod("p", meta={"annotations": {names.VOLCANO_QUEUE: LONG}})
    uid, second = cluster.world.put("pods", hostile), cluster.add_honest_pod("second")
    assert cluster.is_bound(second, as_snapshot=False)
    assert [*cluster.builder.set_aside.objects] == [uid]
    cluster.world.put("pods", pod("p", meta={"labels": {names.QUEUE: "q"}}))
    assert cluster.is_bound(uid, as_snapshot=False)
    assert not cluster.builder.set_aside.objects


def allocatable_cores(builder: SnapshotBuilder, now: Timestamp = NOW) -> int:
    return next(row.allocatable.cpu_milli // 1000 for row in builder.snapshot(now).nodes if row.name == "n1")


FEW_ENTRIES: Final = SenderLimits(max_rows=ListLimits({**DEFAULT_MAX_ROWS, ELEMENTS: 1_000}))
TOO_MANY_DEVICES: Final = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "10000"}
"""Even without constraints, the row of such a pod has more entries."""


def test_running_pod_that_is_set_aside_reduces_its_node() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", running("p", requests={"cpu": "10"}, meta={"annotations": TOO_MANY_DEVICES}))
    assert allocatable_cores(SnapshotBuilder(world.mirrors, CONFIG, limits=FEW_ENTRIES)) == 54


def test_pod_group_goes_as_a_whole_when_a_running_pod_of_it_is_set_aside() -> None:
    """With a part of it alone, it would be below its minimum, and its pods would be evicted."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g", minMember=2))
    world.put("pods", running("good", requests={"cpu": "1"}, meta=member("g")))
    meta = {"annotations": {**member("g")["annotations"], **TOO_MANY_DEVICES}}
    world.put("pods", running("bad", requests={"cpu": "1"}, meta=meta))
    builder = SnapshotBuilder(world.mirrors, CONFIG, limits=FEW_ENTRIES)
    snapshot = builder.snapshot(NOW)
    assert not snapshot.pod_groups
    assert not snapshot.pods
    assert allocatable_cores(builder) == 62
    assert {found.target.name for found in builder.set_aside.take_new()} == {"g", "bad"}
    world.remove("pods", "uid-bad")
    assert [row.uid for row in builder.delta(NOW).upserts.pods] == ["uid-good"]
    assert allocatable_cores(builder) == 64


def test_running_pod_stays_in_reach_when_its_owner_wants_too_many_devices_later() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta=member("g")))
    builder = SnapshotBuilder(world.mirrors, CONFIG, limits=FEW_ENTRIES)
    builder.snapshot(NOW)
    meta = {"annotations": {**member("g")["annotations"], **TOO_MANY_DEVICES}}
    world.put("pods", running("p", meta=meta))
    assert not builder.delta(NOW).removals.pods
    ownership = Ownership(world.mirrors, builder, "kai-scheduler")
    assert ownership.refuse(evict("uid-p", "uid-g")) == ""


def test_decision_about_a_pod_group_that_is_set_aside_is_refused() -> None:
    """Its running pods are not in the snapshot: an eviction of them is a mistake or an attack."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    meta = {"annotations": {**member("g")["annotations"], **TOO_MANY_DEVICES}}
    world.put("pods", running("p", meta=meta))
    builder = SnapshotBuilder(world.mirrors, CONFIG, limits=FEW_ENTRIES)
    builder.snapshot(NOW)
    ownership = Ownership(world.mirrors, builder, "kai-scheduler")
    eviction = evict("uid-p", "uid-g")
    assert ownership.refuse(eviction) == "the pod is not in the snapshot"
    assert ownership.own_pod_groups(["uid-g"]) == set()


def test_pending_pod_that_is_set_aside_goes_without_its_pod_group() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", pod("good", meta=member("g")))
    world.put("pods", pod("bad", meta=member("g"), spec=affinity(MANY_VALUES)))
    assert [row.uid for row in world.snapshot().pods] == ["uid-good"]


def test_pods_on_a_node_that_is_set_aside_keep_their_node_which_takes_no_others() -> None:
    world = CachedCluster()
    world.put("nodes", node(labels=MANY_LABELS))
    world.put("pods", running("p"))
    snapshot = world.snapshot()
    assert [row.node for row in snapshot.pods] == ["n1"]
    (row,) = snapshot.nodes
    assert row.unschedulable
    assert not row.labels


def test_a_node_cannot_displace_the_resources_of_others() -> None:
    world = CachedCluster()
    world.put("nodes", node(allocatable={"example.com/zz": "1"}))
    world.put("nodes", node("n2", allocatable={f"example.com/a{i}": "1" for i in range(1_000)}))
    rows = {row.name: row for row in world.snapshot().nodes}
    assert "example.com/zz" in rows["n1"].allocatable.extended
    assert len(rows["n2"].allocatable.extended) == 199


def test_namespaces_have_equal_shares_of_what_the_server_accepts() -> None:
    world = CachedCluster()
    limits = SenderLimits(max_rows=ListLimits({**DEFAULT_MAX_ROWS, "pods": 10}))
    for i in range(40):
        world.put("pods", pod(f"evil-{i:02}", meta={"namespace": "evil"}))
    for i in range(4):
        world.put("pods", pod(f"good-{i}", meta={"namespace": f"good-{i % 2}"}))
    builder = SnapshotBuilder(world.mirrors, CONFIG, limits=limits)
    sent = [row.name for row in builder.snapshot(NOW).pods]
    assert [name for name in sent if name.startswith("good")] == [f"good-{i}" for i in range(4)]
    assert len(sent) == 10
    assert len(builder.set_aside.objects) == 34
    for i in range(40):
        world.remove("pods", f"uid-evil-{i:02}")
    builder.delta(NOW)
    assert not builder.set_aside.objects


def test_shares_hold_for_every_limit_and_start_with_pod_groups_that_run() -> None:
    most = Cost(100, 100, 100, 1_000, 100)
    evil = [Claimant("evil", i > 0, i, f"e{i}", Cost(1, 1, 1, 400, 1)) for i in range(5)]
    good = [Claimant("good", True, 9, "g", Cost(1, 1, 1, 300, 1))]
    assert left_out([*evil, *good], most) == {"e1", "e2", "e3", "e4"}
    assert left_out([*good, *reversed(evil)], most) == {"e1", "e2", "e3", "e4"}


def test_other_limits_of_the_server_are_applied_to_all_objects() -> None:
    world = CachedCluster()
    world.put("pods", pod("p", meta={"labels": {names.QUEUE: "q" * 60}}))
    builder = world.builder()
    assert builder.snapshot(NOW).pods
    builder.use_limits(SenderLimits(max_name_length=50))
    assert not builder.snapshot(NOW).pods
    builder.use_limits(SenderLimits())
    assert builder.snapshot(NOW).pods


def test_object_that_only_the_server_sets_aside_is_no_longer_sent_until_it_changes(client: Client) -> None:
    world, told = CachedCluster(), list[int]()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g", queue=LONG))
    world.put("pods", pod("p", meta=member("g")))
    builder = SnapshotBuilder(world.mirrors, CONFIG, limits=SenderLimits(max_name_length=10_000))

    def on_set_aside(rows: SetAsideRows) -> None:
        told.append(rows.total)
        builder.on_set_aside(rows)

    with StateSession(client, on_set_aside=on_set_aside) as session:
        session.push(builder.snapshot(NOW))
        assert not builder.set_aside.take_new()
        session.apply(builder.delta(NOW))
        (found,) = builder.set_aside.take_new()
        assert found.target.name == "g"
        assert "the server refuses it: pod_groups[0].queue: has 254 characters" in found.reason.text
        world.put("kai_pod_groups", pod_group("g", queue="q"))
        session.apply(builder.delta(NOW))
    assert told == [2, 0, 0]
    assert not builder.set_aside.objects
    assert builder.snapshot(NOW).pods


def test_warning_about_a_row_that_only_the_server_sets_aside_ends_with_it(client: Client) -> None:
    world = CachedCluster()
    world.put("nodes", node(labels={"k": "v" * 63}))
    world.put("kai_queues", queue("child", parentQueue="q"))
    world.put("kai_queues", queue("q"))
    builder = SnapshotBuilder(world.mirrors, CONFIG)
    snapshot = builder.snapshot(NOW)
    snapshot.nodes[0].taints.add(key="k", effect=99)
    with StateSession(client, on_set_aside=builder.on_set_aside) as session:
        session.push(snapshot)
        assert [one.subject for one in builder.warnings.active] == ["nodes 'n1'"]
        session.push(builder.snapshot(NOW))
    assert not builder.warnings.active


def test_limits_of_a_server_are_those_that_it_reports(client: Client) -> None:
    assert SenderLimits.of(client.get_capabilities().limits) == SenderLimits()


@pytest.mark.long
def test_random_hostile_objects_never_stop_the_honest_pod(client: Client) -> None:
    """More of them: python -m tests hostile-objects."""
    summary = run(client, seed=1, count=1_000)
    assert not summary.failures
    assert summary.set_aside > 50
