"""What must hold when a step is taken, looked at in the mirrors before the first step of a group."""

from collections.abc import Mapping

from tenure.client.kubernetes.objects.node import Node
from tenure.client.kubernetes.objects.pod import Pod
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.pods import ENDED
from tenure.v1.decision_pb2 import Bind, Decision, Evict


class Fences:
    """Preconditions of steps, for one round: nodes are those that were there at its begin."""

    def __init__(self, mirrors: Mirrors, scheduler_name: str) -> None:
        self._pods = mirrors.pods
        self._nodes: Mapping[str, Node] = {node.metadata.name: node for node in mirrors.nodes.all()}
        self._scheduler_name = scheduler_name

    def objection(self, decision: Decision) -> str:
        """Why a step must not be taken; empty: it may be."""
        match decision.WhichOneof("step"):
            case "bind":
                return self._against_binding(decision.bind)
            case "evict":
                return self._against_eviction(decision.evict)
        return ""

    def _against_binding(self, bind: Bind) -> str:
        pod = self._pods.find(bind.pod)
        if pod is None:
            return "the pod is gone"
        if pod.spec.node_name and pod.spec.node_name != bind.node:
            return f"the pod is on node {pod.spec.node_name}"
        if pod.spec.scheduler_name != self._scheduler_name:
            return f"the pod belongs to scheduler {pod.spec.scheduler_name!r}"
        if _is_leaving(pod):
            return "the pod ends"
        if pod.spec.scheduling_gates:
            return "the pod is held back by a scheduling gate"
        return self._against_node(bind.node)

    def _against_node(self, name: str) -> str:
        node = self._nodes.get(name)
        if node is None or node.metadata.deletion_timestamp is not None:
            return f"node {name} is gone"
        if node.spec.unschedulable:
            return f"node {name} is cordoned"
        if any(one.type == "Ready" and one.status != "True" for one in node.status.conditions):
            return f"node {name} is not ready"
        return ""

    def _against_eviction(self, evict: Evict) -> str:
        pod = self._pods.find(evict.pod)
        if pod is None:
            return "the pod is gone"
        if _is_leaving(pod):
            return "the pod ends anyway"
        if pod.spec.node_name != evict.node:
            return f"the pod is on node {pod.spec.node_name or 'none'}, not on {evict.node}"
        return ""


def _is_leaving(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
