"""Snapshots with a growing number of constraints on other pods: terms, topology spread, host ports.

A pending pod of each shape asks for a node, so that constraints are counted and not only read.
"""

from collections.abc import Callable
from typing import Any, Final

from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_EXPRESSIONS, MAX_PREFERENCES, MAX_SPREADS

Fill = Callable[[pb.ClusterSnapshot, int], None]
ZONE: Final = "zone"
NODE: Final = "n"
_EXISTS: Final = pb.SELECTOR_OPERATOR_EXISTS
_NEVER: Final = pb.SELECTOR_OPERATOR_DOES_NOT_EXIST


def _pod(snapshot: pb.ClusterSnapshot, uid: str, *, runs: bool = True, **fields: Any) -> None:
    """A running pod on the one node, or a pending one."""
    status, node = (pb.POD_STATUS_RUNNING, NODE) if runs else (pb.POD_STATUS_PENDING, "")
    snapshot.pods.add(uid=uid, name=uid, pod_group="g", status=status, node=node, **fields)


def _expressions_of_one_term(kind: str) -> Fill:
    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        rows = [{"key": f"k{i}", "operator": _NEVER} for i in range(min(count, MAX_EXPRESSIONS))]
        fields: dict[str, Any] = {"topology_key": ZONE, "match_expressions": rows}
        if kind.endswith("topology_spread"):
            fields["max_skew"] = 1
        elif kind.startswith("preferred"):
            fields = {"weight": 1, "term": fields}
        getattr(snapshot.shapes.add(id="w"), kind).add(**fields)
        for i in range(count):
            _pod(snapshot, f"p{i}", shape="s", labels={"own": f"{i}"})
        _pod(snapshot, "asks", runs=False, shape="w")

    return fill


def _terms_by_expression(snapshot: pb.ClusterSnapshot, count: int) -> None:
    """Many terms without labels; each selects one pod."""
    for i in range(count):
        row = {"key": f"k{i}", "operator": _EXISTS}
        term = {"topology_key": ZONE, "match_expressions": [row]}
        snapshot.shapes.add(id=f"s{i}", pod_anti_affinity=[term])
        _pod(snapshot, f"p{i}", shape=f"s{i}", labels={f"k{i}": "v"})


def _namespaces_of_one_term(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = {"topology_key": ZONE, "match_labels": {"app": "a"}, "namespaces": [f"n{i}" for i in range(count)]}
    snapshot.shapes.add(id="w", pod_anti_affinity=[term])
    for i in range(count):
        _pod(snapshot, f"p{i}", shape="w", labels={"app": "a"})
    _pod(snapshot, "asks", runs=False, shape="w")


def _namespaces_of_many_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    term = {"topology_key": ZONE, "match_labels": {"app": "a"}, "all_namespaces": True}
    snapshot.shapes.add(id="w", pod_anti_affinity=[term])
    for i in range(count):
        group = snapshot.pod_groups.add(uid=f"g{i}", name="g", namespace=f"n{i}", queue="q", min_member=1)
        group.creation_time.seconds = 1_600_000_000
        snapshot.pods.add(
            uid=f"p{i}",
            name="p",
            pod_group=f"g{i}",
            shape="w",
            labels={"app": "a"},
            status=pb.POD_STATUS_RUNNING,
            node=NODE,
        )
    _pod(snapshot, "asks", runs=False, shape="w")


def _term_of(kind: str, i: int) -> dict[str, Any]:
    """One of many different elements of a list of constraints; the i-th pod below is selected."""
    term: dict[str, Any] = {"topology_key": ZONE, "match_labels": {"app": f"{i}"}}
    if kind.endswith("topology_spread"):
        return {"max_skew": 1, **term}
    if kind == "preferred_node_affinity":
        return {"weight": 1, "preference": {"requirements": [{"key": f"k{i}", "operator": _NEVER}]}}
    return {"weight": 1 + i % 100, "term": term}


def _many_of_one_shape(kind: str) -> Fill:
    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        terms = [_term_of(kind, i) for i in range(min(count, MAX_SPREADS, MAX_PREFERENCES))]
        snapshot.shapes.add(id="w", **{kind: terms})
        _second_node(snapshot)
        for i in range(count):
            _pod(snapshot, f"p{i}", shape="w", labels={"app": f"{i}"})
        _pod(snapshot, "asks", runs=False, shape="w")

    return fill


def _one_of_each_shape(kind: str) -> Fill:
    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        _second_node(snapshot)
        for i in range(count):
            snapshot.shapes.add(id=f"s{i}", **{kind: [_term_of(kind, i)]})
            _pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": f"{i}"})
        _pod(snapshot, "asks", runs=False, shape="s0", labels={"app": "0"})

    return fill


def _preferences_for_one_pod(kind: str) -> Fill:
    """Terms of many weights that all select the pod that asks for a node."""

    def fill(snapshot: pb.ClusterSnapshot, count: int) -> None:
        _second_node(snapshot)
        for i in range(count):
            snapshot.shapes.add(id=f"s{i}", **{kind: [{**_term_of(kind, 0), "weight": 1 + i % 100}]})
            _pod(snapshot, f"p{i}", shape=f"s{i}", labels={"app": "1"})
        _pod(snapshot, "asks", runs=False, shape="s", labels={"app": "0"})

    return fill


def _second_node(snapshot: pb.ClusterSnapshot) -> None:
    """A second node: nodes are scored only where there is a choice."""
    node = snapshot.nodes.add()
    node.CopyFrom(snapshot.nodes[0])
    node.name = f"{NODE}2"


def _labels_of_one_spread(snapshot: pb.ClusterSnapshot, count: int) -> None:
    spread = snapshot.shapes.add(id="w").topology_spread.add(topology_key=ZONE, max_skew=1)
    for i in range(count):
        spread.match_labels[f"l{i}"] = "v"
        _pod(snapshot, f"p{i}", shape="w", labels={"l0": "v"})
    _pod(snapshot, "asks", runs=False, shape="w")


def _ports_of_one_shape(snapshot: pb.ClusterSnapshot, count: int) -> None:
    ports = [{"port": 1 + i} for i in range(count)]
    snapshot.shapes.add(id="w", host_ports=ports)
    for i in range(count):
        _pod(snapshot, f"p{i}", shape="s")
    _pod(snapshot, "asks", runs=False, shape="w")


def _ports_of_their_own(snapshot: pb.ClusterSnapshot, count: int) -> None:
    for i in range(count):
        snapshot.shapes.add(id=f"s{i}", host_ports=[{"port": 1 + i}])
        _pod(snapshot, f"p{i}", shape=f"s{i}")
    snapshot.shapes.add(id="last", host_ports=[{"port": 1 + count}])
    _pod(snapshot, "asks", runs=False, shape="last")


def _other_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    snapshot.shapes.add(id="w", pod_anti_affinity=[{"topology_key": ZONE, "match_labels": {"own": "x"}}])
    for i in range(count):
        snapshot.nodes[0].other_pods.add(namespace="ns", labels={"own": f"{i}"}, count=1)
    _pod(snapshot, "asks", runs=False, shape="w")


def _labels_of_other_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    labels = {f"l{i}": "v" for i in range(count)}
    snapshot.shapes.add(id="w", pod_anti_affinity=[{"topology_key": ZONE, "match_labels": {"l0": "v"}}])
    snapshot.nodes[0].other_pods.add(namespace="ns", labels=labels, count=1)
    _pod(snapshot, "asks", runs=False, shape="w")


def _terms_of_other_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    terms = [{"topology_key": ZONE, "match_labels": {"own": f"{i}"}} for i in range(count)]
    snapshot.nodes[0].other_pods.add(namespace="ns", count=1, pod_anti_affinity=terms)
    for i in range(count):
        _pod(snapshot, f"p{i}", shape="s", labels={"own": f"{i}"})
    _pod(snapshot, "asks", runs=False, shape="s", labels={"own": "0"})


def _ports_of_other_pods(snapshot: pb.ClusterSnapshot, count: int) -> None:
    ports = [{"port": 1 + i} for i in range(count)]
    snapshot.nodes[0].other_pods.add(namespace="ns", count=1, host_ports=ports)
    snapshot.shapes.add(id="w", host_ports=[{"port": 1}])
    _pod(snapshot, "asks", runs=False, shape="w")


CONSTRAINTS: Final[dict[str, tuple[Fill, ...]]] = {
    "PodAffinityTerm.match_expressions": (
        _expressions_of_one_term("pod_affinity"),
        _expressions_of_one_term("pod_anti_affinity"),
        _terms_by_expression,
        _expressions_of_one_term("preferred_pod_affinity"),
    ),
    "PodAffinityTerm.namespaces": (_namespaces_of_one_term, _namespaces_of_many_pods),
    "PodShape.topology_spread": (
        _many_of_one_shape("topology_spread"),
        _one_of_each_shape("topology_spread"),
    ),
    "PodShape.preferred_node_affinity": (
        _many_of_one_shape("preferred_node_affinity"),
        _one_of_each_shape("preferred_node_affinity"),
    ),
    "PodShape.preferred_pod_affinity": (
        _many_of_one_shape("preferred_pod_affinity"),
        _one_of_each_shape("preferred_pod_affinity"),
        _preferences_for_one_pod("preferred_pod_affinity"),
    ),
    "PodShape.preferred_pod_anti_affinity": (
        _many_of_one_shape("preferred_pod_anti_affinity"),
        _one_of_each_shape("preferred_pod_anti_affinity"),
        _preferences_for_one_pod("preferred_pod_anti_affinity"),
    ),
    "PodShape.preferred_topology_spread": (
        _many_of_one_shape("preferred_topology_spread"),
        _one_of_each_shape("preferred_topology_spread"),
    ),
    "TopologySpread.match_labels": (_labels_of_one_spread,),
    "TopologySpread.match_expressions": (
        _expressions_of_one_term("topology_spread"),
        _expressions_of_one_term("preferred_topology_spread"),
    ),
    "PodShape.host_ports": (_ports_of_one_shape, _ports_of_their_own),
    "Node.other_pods": (_other_pods,),
    "OtherPods.labels": (_labels_of_other_pods,),
    "OtherPods.pod_anti_affinity": (_terms_of_other_pods,),
    "OtherPods.host_ports": (_ports_of_other_pods,),
}
"""Ways to fill each field with elements that are valid."""
