"""Preferences of pods order the nodes that take them, and decide nothing else, on a real server."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from tenure.client import Client
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.checker import verify
from tests.codec.snapshots.contested_snapshot import evicted_pods
from tests.server.servers import run_server

ZONES: Final = {"n1": "a", "n2": "a", "n3": "b", "n4": ""}
"""Without preferences, pods start on the first of the nodes."""
DB: Final = {"app": "db"}
SOFT: Final = pb.TAINT_EFFECT_PREFER_NO_SCHEDULE


class Case(NamedTuple):
    """What the pod prefers, and where it starts."""

    node: str
    shape: dict[str, Any] = {}
    db: dict[str, Any] = {}
    """Where the pod with the label app=db is, and its shape."""
    taints: dict[str, int] = {}
    """Number of taints by node."""
    other: str = ""
    """Node of a pod with the label app=db that is not in the snapshot."""


def prefer_zone(**weights: int) -> dict[str, Any]:
    """Preferred node affinity to zones."""
    return {"preferred_node_affinity": [_in_zone(zone, weight) for zone, weight in weights.items()]}


def _in_zone(zone: str, weight: int) -> dict[str, Any]:
    requirement = {"key": "zone", "operator": pb.SELECTOR_OPERATOR_IN, "values": [zone]}
    return {"weight": weight, "preference": {"requirements": [requirement]}}


def near(key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"preferred_pod_affinity": [_to_db(key, **more)]}


def away(key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"preferred_pod_anti_affinity": [_to_db(key, **more)]}


def _to_db(key: str, **more: Any) -> dict[str, Any]:
    return {"weight": 10, "term": {"topology_key": key, "match_labels": DB, **more}}


def to_web(kind: str) -> dict[str, Any]:
    """Preferred terms of the db pod for the pod that starts."""
    return {kind: [{"weight": 10, "term": {"topology_key": "zone", "match_labels": {"app": "web"}}}]}


def spread(key: str = "zone", **labels: str) -> dict[str, Any]:
    rule = {"topology_key": key, "max_skew": 1, "match_labels": labels or DB}
    return {"preferred_topology_spread": [rule]}


CASES: Final = {
    "no preference": Case("n1"),
    "nodes by label": Case("n3", prefer_zone(b=1)),
    "the larger weight": Case("n3", prefer_zone(a=49, b=50)),
    "weights of all terms are added": Case(
        "n1", {"preferred_node_affinity": [_in_zone("a", 30), _in_zone("a", 30), _in_zone("b", 50)]}
    ),
    "a zone that no node has": Case("n1", prefer_zone(c=100)),
    "near a pod": Case("n3", near(), {"node": "n3"}),
    "near a pod on the same node only": Case("n2", near("host"), {"node": "n2"}),
    "near a pod of another namespace": Case("n1", near(), {"node": "n3", "namespace": "x"}),
    "near a pod of a named namespace": Case("n3", near(namespaces=["x"]), {"node": "n3", "namespace": "x"}),
    "near a pod of any namespace": Case("n3", near(all_namespaces=True), {"node": "n3", "namespace": "x"}),
    "near a pod that is not in the snapshot": Case("n3", near(), other="n3"),
    "away from a pod": Case("n3", away(), {"node": "n1"}),
    "away from a pod of the same node": Case("n2", away("host"), {"node": "n1"}),
    "a pod that attracts": Case("n3", {}, {"node": "n3", **to_web("preferred_pod_affinity")}),
    "a pod that keeps away": Case("n3", {}, {"node": "n1", **to_web("preferred_pod_anti_affinity")}),
    "a pod of another namespace attracts not": Case(
        "n1", {}, {"node": "n3", "namespace": "x", **to_web("preferred_pod_affinity")}
    ),
    "fewer pods in the zone": Case("n3", spread(), {"node": "n1"}),
    "fewer pods on the node": Case("n2", spread("host"), {"node": "n1"}),
    "fewer taints": Case("n4", {}, taints={"n1": 2, "n2": 1, "n3": 1}),
    "tolerated taints do not count": Case(
        "n1", {"tolerations": [{"key": "t0", "exists": True}]}, taints={"n1": 1, "n2": 2}
    ),
    "tolerated with another effect they count": Case(
        "n2",
        {"tolerations": [{"key": "t0", "exists": True, "effect": pb.TAINT_EFFECT_NO_SCHEDULE}]},
        taints={"n1": 1},
    ),
    "taints count more than labels": Case("n3", prefer_zone(a=100), taints={"n1": 1, "n2": 1}),
    "labels and pods count more than taints": Case(
        "n1", {**prefer_zone(a=100), **near()}, {"node": "n1"}, taints={"n1": 1, "n2": 1}
    ),
}


def snapshot(nodes: dict[str, str] = ZONES, cores: int = 8) -> pb.ClusterSnapshot:
    """Equal nodes in zones, a queue, and the pod group web without pods."""
    built = pb.ClusterSnapshot(cluster_id="c", version=1, now={"seconds": 1_700_000_000})
    for name, zone in nodes.items():
        labels = {"host": name, **({"zone": zone} if zone else {})}
        amounts = {"cpu_milli": 1000 * cores, "memory_bytes": 1 << 30, "pods": 10}
        built.nodes.add(name=name, labels=labels, allocatable=amounts)
    built.queues.add(name="q")
    group(built, "web")
    return built


def group(built: pb.ClusterSnapshot, uid: str, **more: Any) -> None:
    made = {"seconds": 1_600_000_000}
    built.pod_groups.add(uid=uid, name=uid, queue="q", creation_time=made, **{"min_member": 1, **more})


def pod(built: pb.ClusterSnapshot, name: str, of: str, node: str = "", **more: Any) -> pb.Pod:
    """A running pod, or a pending one without a node, labelled app=GROUP and with its shape."""
    status = pb.POD_STATUS_RUNNING if node else pb.POD_STATUS_PENDING
    fields = {"status": status, "node": node, "shape": of, "labels": {"app": of}, **more}
    return built.pods.add(uid=name, name=name, pod_group=of, **fields)


def shape(built: pb.ClusterSnapshot, name: str, cores: int = 1, **more: Any) -> None:
    built.shapes.add(id=name, requests={"cpu_milli": 1000 * cores}, **more)


def bound(answer: DecideResponse) -> dict[str, str]:
    """Nodes of pods that start."""
    decisions = [decision for group in answer.groups for decision in group.decisions]
    return {one.bind.pod: one.bind.node for one in decisions if one.HasField("bind")}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as opened:
        yield opened


@pytest.mark.parametrize("name", CASES)
def test_pod_starts_on_the_node_that_it_prefers(client: Client, name: str) -> None:
    case, built = CASES[name], snapshot()
    shape(built, "web", **case.shape)
    pod(built, "web-0", "web")
    if case.db:
        of_db = dict(case.db)
        node, namespace = of_db.pop("node"), of_db.pop("namespace", "")
        shape(built, "db", **of_db)
        group(built, "db", namespace=namespace)
        pod(built, "db-0", "db", node)
        for each in built.nodes:  # the pod distinguishes no node by what it uses
            each.allocatable.cpu_milli += 1000 * (each.name == node)
    for each in built.nodes:
        each.taints.extend(pb.Taint(key=f"t{i}", effect=SOFT) for i in range(case.taints.get(each.name, 0)))
        if each.name == case.other:
            each.other_pods.add(labels=DB, count=1)
    answer = client.decide(built)
    assert bound(answer) == {"web-0": case.node}
    assert verify(built, answer) == []


def test_node_without_the_label_of_a_preferred_spread_comes_last(client: Client) -> None:
    built = snapshot({"n1": "", "n2": "a"})
    shape(built, "web", **spread())
    pod(built, "web-0", "web")
    assert bound(client.decide(built)) == {"web-0": "n2"}


def test_pods_of_one_decision_count_each_other(client: Client) -> None:
    built = snapshot({"n1": "a", "n2": "b", "n3": "c"})
    built.pod_groups[0].min_member = 3
    shape(built, "web", **spread(app="web"))
    for i in range(3):
        pod(built, f"web-{i}", "web")
    assert sorted(bound(client.decide(built)).values()) == ["n1", "n2", "n3"]


def test_pod_starts_elsewhere_if_its_preferred_node_is_full(client: Client) -> None:
    built = snapshot({"n1": "a", "n2": "b"}, cores=1)
    shape(built, "web", **prefer_zone(b=100))
    group(built, "old")
    shape(built, "old")
    pod(built, "old-0", "old", "n2")
    pod(built, "web-0", "web")
    assert bound(client.decide(built)) == {"web-0": "n1"}


def test_pod_waits_for_no_preferred_node(client: Client) -> None:
    built = snapshot({"n1": "a", "n2": "b"}, cores=1)
    shape(built, "web", **prefer_zone(b=100))
    group(built, "old")
    shape(built, "old")
    pod(built, "old-0", "old", "n2").status = pb.POD_STATUS_RELEASING
    pod(built, "web-0", "web")
    assert bound(client.decide(built)) == {"web-0": "n1"}


def test_nominated_node_precedes_preferred_ones(client: Client) -> None:
    built = snapshot()
    shape(built, "web", **prefer_zone(b=100))
    pod(built, "web-0", "web", nominated_node="n2")
    assert bound(client.decide(built)) == {"web-0": "n2"}


def test_gang_starts_although_its_preferences_leave_no_room_for_all_of_it(client: Client) -> None:
    """The first pod prefers the only node that the second one fits on."""
    built = snapshot({"n1": "a", "n2": "b"}, cores=2)
    built.nodes[0].allocatable.cpu_milli = 1000
    built.pod_groups[0].min_member = 2
    shape(built, "web", **prefer_zone(b=100))
    shape(built, "large", cores=2)
    pod(built, "web-0", "web", leader=True)
    pod(built, "web-1", "web", shape="large")
    assert bound(client.decide(built)) == {"web-0": "n1", "web-1": "n2"}


@pytest.mark.parametrize("preference", [prefer_zone(b=100), near(), away(), spread(app="old")])
def test_preferences_choose_no_victims(client: Client, preference: dict[str, Any]) -> None:
    """The decision is that of a pod without preferences."""
    answers = []
    for prefers in ({}, preference):
        built = snapshot({"n1": "a", "n2": "b"}, cores=1)
        built.pod_groups[0].priority = 90
        shape(built, "web", **prefers)
        shape(built, "old")
        for i, node in enumerate(("n1", "n2")):
            group(built, f"old{i}", priority=10 * (i + 1))
            pod(built, f"old{i}-0", f"old{i}", node, shape="old", labels=DB)
        pod(built, "web-0", "web")
        answers.append(client.decide(built))
    assert [evicted_pods(answer) for answer in answers] == [{"old0-0"}, {"old0-0"}]
    assert [[group.action for group in answer.groups] for answer in answers] == [["preempt"], ["preempt"]]
