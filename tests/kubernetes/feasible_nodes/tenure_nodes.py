"""The nodes on which Tenure binds a pod: the adapter's snapshot, decided on with one node open at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot

from tests.kubernetes.feasible_nodes.kube_filters import Question
from tests.kubernetes.observe.cached_cluster import CachedCluster, queue, uid_of

_ENGINE: Final = Engine(replace(default_profile(), actions=("allocate",)))
_EVICTING: Final = Engine(default_profile())
_UNLIMITED: Final = {name: {"quota": -1, "limit": -1} for name in ("cpu", "memory", "gpu")}


class Placed(NamedTuple):
    """What Tenure does with a pod."""

    feasible: frozenset[str]
    preferred: str
    """Where it is bound if all nodes are open; "": nowhere."""
    blocked_reason: str
    """Why the adapter refuses it; "": it does not."""


class Started(NamedTuple):
    """Where the pod starts when the victims of the decision have left."""

    node: str
    evicted: frozenset[str]
    moved: Mapping[str, str]
    """Nodes of victims that are placed again."""


def find_start(question: Question) -> Started | None:
    """The decision for the pod where it may evict all others. None: it evicts no pod, or does not start."""
    snapshot, uid = _snapshot(question), uid_of("pods", question.pod)
    own = next((pod.pod_group for pod in snapshot.pods if pod.uid == uid), "")
    for group in snapshot.pod_groups:
        group.priority = 90 if group.uid == own else 10
        group.preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    response = _EVICTING.decide(DecideRequest(snapshot=snapshot)).parse()
    steps = [step for group in response.groups for step in group.decisions]
    held = {step.reserve.pod: step.reserve.node for step in steps if step.HasField("reserve")}
    evicted = frozenset(step.evict.pod for step in steps if step.HasField("evict"))
    if uid not in held or not evicted:
        return None
    return Started(held[uid], evicted, {pod: node for pod, node in held.items() if pod in evicted})


def find_placement(question: Question) -> Placed:
    """Where the pod of a question is bound."""
    snapshot, uid = _snapshot(question), uid_of("pods", question.pod)
    feasible = {node for node, one in _with_one_node(snapshot) if _bound(one, uid) == node}
    row = next((pod for pod in snapshot.pods if pod.uid == uid), None)
    return Placed(frozenset(feasible), _bound(snapshot, uid), row.blocked_reason if row else "it has no row")


def _snapshot(question: Question) -> ClusterSnapshot:
    cluster = CachedCluster()
    cluster.put("kai_queues", queue("root", resources=_UNLIMITED))
    cluster.put("kai_queues", queue("q", parentQueue="root", resources=_UNLIMITED))
    for node in question.nodes:
        cluster.put("nodes", node)
    for namespace in question.namespaces:
        cluster.put("namespaces", namespace)
    for pod in (*question.pods, question.pod):
        cluster.put("pods", pod)
    return cluster.snapshot()


def _with_one_node(snapshot: ClusterSnapshot) -> Iterator[tuple[str, ClusterSnapshot]]:
    """The snapshot with all nodes but one cordoned, for each node."""
    for i, node in enumerate(snapshot.nodes):
        one = ClusterSnapshot()
        one.CopyFrom(snapshot)
        for other, row in enumerate(one.nodes):
            row.unschedulable = row.unschedulable or other != i
        yield node.name, one


def _bound(snapshot: ClusterSnapshot, uid: str) -> str:
    """Node to which the pod is bound; "": none."""
    response = _ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()
    for group in response.groups:
        for decision in group.decisions:
            if decision.HasField("bind") and decision.bind.pod == uid:
                return str(decision.bind.node)
    return ""
