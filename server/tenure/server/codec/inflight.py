"""Groups in flight: from messages to the model, and what became of them back to messages.

What does not go with the rest of the snapshot is no violation: clusters race with their callers. It is told
apart here (index NOWHERE, zones left out), and the cycle decides what becomes of the group.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tenure.server.codec.checks import MISSING, time
from tenure.server.codec.violations import Findings
from tenure.server.codec.zones import decode_placement
from tenure.solver.model.inflight import InFlightGroup, InFlightStep
from tenure.solver.model.node import Node
from tenure.solver.model.numa import Zones
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import PodGroup, Task
from tenure.v1 import snapshot_pb2


def check_in_flight(messages: Sequence[snapshot_pb2.InFlightGroup], findings: Findings) -> None:
    """Note what is wrong with the times; ids are checked with those of the other lists."""
    for i, message in enumerate(messages):
        if message.HasField("expire_time"):
            time(message.expire_time, findings, i, "expire_time")
        else:
            findings.add(i, "expire_time", MISSING)


@dataclass(frozen=True, slots=True)
class InFlightRows:
    """What steps may refer to."""

    task: Callable[[str], Task | None]
    """Finds a pod by its uid."""
    pod_group: Callable[[str], PodGroup | None]
    """Finds a pod group likewise."""
    nodes: Sequence[Node]
    node_ranks: Mapping[str, int]
    slots: Mapping[str, int]
    """Position of each resource name."""


def decode_in_flight(
    messages: Sequence[snapshot_pb2.InFlightGroup],
    rows: InFlightRows,
) -> tuple[InFlightGroup, ...]:
    """The groups by id; messages were checked."""
    return tuple(_group(message, rows) for message in sorted(messages, key=lambda message: message.id))


def _group(message: snapshot_pb2.InFlightGroup, known: InFlightRows) -> InFlightGroup:
    return InFlightGroup(
        id=message.id,
        action=message.action,
        beneficiary=_index(known.pod_group(message.beneficiary)),
        expires=message.expire_time.ToNanoseconds(),
        evictions=_steps(message.evictions, known),
        holds=_steps(message.holds, known),
        bindings=_steps(message.bindings, known),
    )


def _steps(messages: Iterable[snapshot_pb2.InFlightStep], known: InFlightRows) -> tuple[InFlightStep, ...]:
    return tuple(sorted(_step(message, known) for message in messages))


def _step(message: snapshot_pb2.InFlightStep, known: InFlightRows) -> InFlightStep:
    node, task = known.node_ranks.get(message.node, NOWHERE), known.task(message.pod)
    return InFlightStep(
        pod=message.pod,
        task=NOWHERE if task is None else task.index,
        node=node,
        pod_group=_index(known.pod_group(message.pod_group)) if task is None else task.pod_group,
        gpu_groups=tuple(message.gpu_groups),
        zones=() if node == NOWHERE else _zones(message, known.nodes[node], known.slots),
    )


def _index(group: PodGroup | None) -> int:
    return NOWHERE if group is None else group.index


def _zones(message: snapshot_pb2.InFlightStep, node: Node, slots: Mapping[str, int]) -> Zones:
    """What it takes in the zones of the node; nothing when that cannot be read."""
    amounts = (placement.amounts.extended for placement in message.numa_placement)
    if any(name not in slots for extended in amounts for name in extended):
        return ()
    findings = Findings("in_flight_groups")
    zones = decode_placement(0, message.numa_placement, node.numa_zones, slots, findings)
    return () if findings.in_order() else zones
