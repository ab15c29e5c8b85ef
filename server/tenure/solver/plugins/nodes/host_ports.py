"""Host ports: no two pods on a node use the same port (Kubernetes hostPort, semantics R3.72).

A port that only victims use is free later: a task is pipelined there, and not bound.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.presence import (
    EFFECTS,
    FOR_RESERVED,
    Places,
    PodRelation,
    Presence,
    Presences,
    presence_of_other,
)
from tenure.terms.reasons import ReasonCode

IN_USE: Final = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "its host ports are in use", by_own=True)


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
        self._cluster, self._ledger = context.cluster, context.ledger
        self._held: dict[int, _Ports] = {}
        self._leaving: dict[int, _Ports] = {}
        """Ports that victims still use, by node."""
        self._passing: dict[int, _Ports] = {}
        """Ports for which a pod with a reservation waits, but no other."""
        self._presences = Presences(context.cluster)
        for node in context.cluster.nodes:
            for pods in node.other_pods:
                if pods.host_ports:
                    place = (node.index, presence_of_other(pods.is_terminating))
                    self._count(pods.host_ports, (place,), pods.number)
        for task in context.cluster.tasks:
            if ports := task.shape.constraints.host_ports:
                places = self._presences.of(task.index, context.ledger.placement(task.index))
                self._count(ports, places, 1)

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        """A check, if the task has host ports."""
        ports = self._cluster.tasks[task].shape.constraints.host_ports
        own = list(self._presences.of(task, self._ledger.placement(task))) if ports else []
        return partial(self._check, ports, own) if ports else None

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the ports of the task where it is and where it is pipelined."""
        if ports := self._cluster.tasks[task].shape.constraints.host_ports:
            self._count(ports, self._presences.of(task, before), -1)
            self._count(ports, self._presences.of(task, after), 1)

    def _check(self, ports: Sequence[HostPort], own: Places, node: int) -> Rejection | None:
        """Rejection of a node; the task does not block itself."""
        self._count(ports, own, -1)
        is_held, is_leaving, is_passing = [
            node in users and users[node].conflicts(ports)
            for users in (self._held, self._leaving, self._passing)
        ]
        self._count(ports, own, 1)
        is_reserved = any(presence is Presence.RESERVED for _, presence in own)
        if is_held or (is_passing and not is_reserved):
            return IN_USE
        return NOT_YET if is_leaving or is_passing else None

    def _count(self, ports: Sequence[HostPort], places: Iterable[tuple[int, Presence]], number: int) -> None:
        for node, presence in places:
            effect = EFFECTS[PodRelation.BLOCKS][presence]
            if FOR_RESERVED[PodRelation.BLOCKS][presence].later:
                self._on(self._held, node).count(ports, number)
            elif effect.later:
                self._on(self._passing, node).count(ports, number)
            elif effect.now:
                self._on(self._leaving, node).count(ports, number)

    def _on(self, of_node: dict[int, _Ports], node: int) -> _Ports:
        found = of_node.get(node)
        if found is None:
            found = of_node[node] = _Ports()
        return found


def has_host_ports(cluster: Cluster) -> bool:
    """Whether any task may have host ports."""
    return any(shape.constraints.host_ports for shape in cluster.shapes)
