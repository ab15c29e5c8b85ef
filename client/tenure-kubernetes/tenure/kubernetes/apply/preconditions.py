"""What must hold when a step is taken, looked at in the mirrors before the first step of a group.

Calls side by side, a few at a time: 500 of them take 0.3 s then, and an API server is not pressed.

Writes that are sent only while the lease is ours, asked right before each.

Whoever reads before it writes may be stopped in between, for as long as another adapter needs to take over.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, TypeVar

from tenure.kubernetes.api.api_errors import LeaseLost
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import Query, Transport, require_leadership
from tenure.kubernetes.objects.node import Node
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.pods import ENDED
from tenure.v1.decision_pb2 import Bind, Decision, Evict

AT_ONCE: Final = 16
_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


class CallPool:
    """A few threads, for one caller at a time. What they do is part of the caller's trace."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, name)

    def close(self) -> None:
        """Wait for what is under way; nothing is begun afterwards."""
        self._pool.shutdown(cancel_futures=True)

    def all(self, take: Callable[[_Item], _Found], items: Iterable[_Item]) -> list[_Found]:
        """What comes of every item, in their order.

        Raises what one of them raises, LeaseLost before anything else, when all have ended.
        """
        futures = [self._pool.submit(copy_context().run, take, item) for item in items]
        lost = [future for future in futures if isinstance(future.exception(), LeaseLost)]
        return [future.result() for future in (*lost, *futures)]


class LeaderTransport:
    """A transport for whoever leads. Raises ApiError as that does, and LeaseLost: nothing was sent."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool]) -> None:
        self._transport, self._is_leader = transport, may_act

    def get(self, path: str) -> bytes:
        """An object. Raises ApiError alone."""
        return self._transport.get(path)

    def post(self, path: str, body: Any) -> bytes:
        """Create something."""
        with require_leadership(self._is_leader):
            return self._transport.post(path, body)

    def patch(self, path: str, body: Any, media_type: str, query: Query | None = None) -> bytes:
        """Change an object."""
        with require_leadership(self._is_leader):
            return self._transport.patch(path, body, media_type, query)


class PreconditionChecker:
    """Preconditions of steps, for one round: nodes are those that were there at its begin."""

    def __init__(self, caches: ObjectCaches, scheduler_name: str) -> None:
        self._pods = caches.pods
        self._nodes: Mapping[str, Node] = {node.metadata.name: node for node in caches.nodes.all()}
        self._scheduler_name = scheduler_name

    def find_violation(self, decision: Decision) -> str:
        """Why a step must not be taken; empty: it may be."""
        match decision.WhichOneof("kind"):
            case "bind":
                return self._check_bind(decision.bind)
            case "evict":
                return self._check_evict(decision.evict)
        return ""

    def _check_bind(self, bind: Bind) -> str:
        pod = self._pods.find(bind.pod)
        if pod is None:
            return "the pod is gone"
        if pod.spec.node_name and pod.spec.node_name != bind.node:
            return f"the pod is on node {pod.spec.node_name}"
        if pod.spec.scheduler_name != self._scheduler_name:
            return f"the pod belongs to scheduler {pod.spec.scheduler_name!r}"
        if _is_terminating(pod):
            return "the pod ends"
        if pod.spec.scheduling_gates:
            return "the pod is held back by a scheduling gate"
        return self._check_node(bind.node)

    def _check_node(self, name: str) -> str:
        node = self._nodes.get(name)
        if node is None or node.metadata.deletion_timestamp is not None:
            return f"node {name} is gone"
        if node.spec.unschedulable:
            return f"node {name} is cordoned"
        if any(one.type == "Ready" and one.status != "True" for one in node.status.conditions):
            return f"node {name} is not ready"
        return ""

    def _check_evict(self, evict: Evict) -> str:
        pod = self._pods.find(evict.pod)
        if pod is None:
            return "the pod is gone"
        if _is_terminating(pod):
            return "the pod ends anyway"
        if pod.spec.node_name != evict.node:
            return f"the pod is on node {pod.spec.node_name or 'none'}, not on {evict.node}"
        return ""


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
