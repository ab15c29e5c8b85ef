"""Host ports: no two pods on a node use the same port (Kubernetes hostPort).

A port that only terminating tasks use is free soon: a task is pipelined there, and not bound.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort
from tenure.solver.model.placement import NOWHERE, RELEASING, Placement
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.terms.reasons import ReasonCode

IN_USE: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its host ports are in use")


class _Ports:
    """Ports of a node in use: number of pods by address, by number and protocol."""

    __slots__ = ("_users",)

    def __init__(self) -> None:
        self._users: dict[tuple[int, str], Counter[str]] = {}

    def count(self, ports: Iterable[HostPort], number: int) -> None:
        """Add this number of pods with these ports; a negative number removes pods."""
        for port in ports:
            users = self._users.setdefault((port.port, port.protocol), Counter())
            users[port.ip] += number
            if not users[port.ip]:
                del users[port.ip]

    def conflicts(self, ports: Iterable[HostPort]) -> bool:
        """Whether any of these ports is in use: on all addresses, or on one of equal addresses."""
        for port in ports:
            users = self._users.get((port.port, port.protocol))
            if users and (not port.ip or "" in users or port.ip in users):
                return True
        return False


class HostPortFilter:
    """Follows every move of tasks with host ports, and checks single nodes."""

    def __init__(self, context: PluginContext) -> None:
        self._cluster = context.cluster
        self._held: dict[int, _Ports] = {}
        self._leaving: dict[int, _Ports] = {}
        """Ports that terminating tasks still use, by node."""
        for node in context.cluster.nodes:
            for pods in node.other_pods:
                if pods.host_ports:
                    self._on(self._held, node.index).count(pods.host_ports, pods.number)
        for task in context.cluster.tasks:
            if ports := task.shape.constraints.host_ports:
                self._count(ports, context.ledger.placement(task.index), 1)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has host ports."""
        ports = self._cluster.tasks[task].shape.constraints.host_ports
        return partial(self._check, ports) if ports else None

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the ports of the task where it is and where it is pipelined."""
        if ports := self._cluster.tasks[task].shape.constraints.host_ports:
            self._count(ports, before, -1)
            self._count(ports, after, 1)

    def _check(self, ports: Sequence[HostPort], node: int) -> Rejection | None:
        held, leaving = self._held.get(node), self._leaving.get(node)
        if held is not None and held.conflicts(ports):
            return IN_USE
        return NOT_YET if leaving is not None and leaving.conflicts(ports) else None

    def _count(self, ports: Sequence[HostPort], placement: Placement, number: int) -> None:
        if placement.use and placement.node != NOWHERE:
            of_node = self._leaving if placement.use == RELEASING else self._held
            self._on(of_node, placement.node).count(ports, number)
        if placement.previous is not None:
            self._count(ports, placement.previous, number)

    def _on(self, of_node: dict[int, _Ports], node: int) -> _Ports:
        found = of_node.get(node)
        if found is None:
            found = of_node[node] = _Ports()
        return found


def has_host_ports(cluster: Cluster) -> bool:
    """Whether any task may have host ports."""
    return any(shape.constraints.host_ports for shape in cluster.shapes)
