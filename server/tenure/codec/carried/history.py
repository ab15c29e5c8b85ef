"""Decode in-flight groups and the eviction history, which callers carry between cycles, and what is left of
disruption budgets.

A reference to an object that is not in the snapshot is not a violation, since clusters change while callers
work. It is marked (index NOWHERE, no zones), and the cycle determines the state of the group.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tenure.codec.checks import MISSING, amount, index_names, time
from tenure.codec.nodes import decode_placement
from tenure.solver.model.caller_state import EvictionRecord, InFlightDecision, InFlightGroup
from tenure.solver.model.disruption_limits import DisruptionBudget, EvictionRateState
from tenure.solver.model.node import Node
from tenure.solver.model.placement import NOWHERE, Zones
from tenure.solver.model.workload import PodGroup, Task
from tenure.terms.cancellation import Pace
from tenure.v1 import snapshot_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import ViolationCollector, quote_name


def decode_eviction_history(
    messages: Sequence[pb.EvictionRecord], pod_groups: Mapping[str, int], findings: ViolationCollector
) -> tuple[EvictionRecord, ...]:
    """Eviction records by victim and preemptor, without those of unknown pod groups.

    `pod_groups` maps UIDs to indices.
    """
    memories: dict[tuple[int, int], EvictionRecord] = {}
    first: dict[tuple[str, str], int] = {}
    for i, message in enumerate(messages):
        findings.step()
        earlier = first.setdefault((message.victim, message.preemptor), i)
        if earlier != i:
            pair = f"{quote_name(message.victim)} and {quote_name(message.preemptor)}"
            findings.add(i, "victim", f"the pair {pair} is already used by element {earlier}")
        memory = _decode(i, message, pod_groups, findings)
        if memory is not None:
            memories[memory.victim, memory.preemptor] = memory
    return tuple(memories[pair] for pair in sorted(memories))


def _decode(
    i: int, message: pb.EvictionRecord, pod_groups: Mapping[str, int], findings: ViolationCollector
) -> EvictionRecord | None:
    for field in ("victim", "preemptor"):
        if not getattr(message, field):
            findings.add(i, field, MISSING)
    if not message.HasField("last_eviction_time"):
        findings.add(i, "last_eviction_time", MISSING)
    last_eviction = time(message.last_eviction_time, findings, i, "last_eviction_time")
    failures = amount(message.consecutive_failures, findings, i, "consecutive_failures", MAX_COUNT)
    last_failure = None
    if message.HasField("last_failure_time"):
        last_failure = time(message.last_failure_time, findings, i, "last_failure_time")
    victim, preemptor = pod_groups.get(message.victim), pod_groups.get(message.preemptor)
    if victim is None or preemptor is None:
        return None
    return EvictionRecord(victim, preemptor, last_eviction, failures, last_failure, message.result_pending)


def decode_disruption_budgets(
    messages: Sequence[pb.DisruptionBudget], findings: ViolationCollector
) -> tuple[DisruptionBudget, ...]:
    """Disruption budgets by name."""
    index_names([budget.name for budget in messages], findings)
    found: dict[str, DisruptionBudget] = {}
    for i, message in enumerate(messages):
        findings.step()
        next_allowed = None
        if message.HasField("next_allowed_time"):
            next_allowed = time(message.next_allowed_time, findings, i, "next_allowed_time")
        allowed = amount(message.allowed, findings, i, "allowed", MAX_COUNT)
        counted = frozenset(message.counted_pods)
        found[message.name] = DisruptionBudget(message.name, allowed, counted, next_allowed)
    return tuple([found[name] for name in sorted(found)])


def decode_eviction_rates(
    messages: Sequence[pb.EvictionRateState], findings: ViolationCollector
) -> tuple[EvictionRateState, ...]:
    """States of eviction rates by name."""
    index_names([rate.name for rate in messages], findings)
    found: dict[str, EvictionRateState] = {}
    for i, message in enumerate(messages):
        findings.step()
        if not message.HasField("time"):
            findings.add(i, "time", MISSING)
        amount(abs(message.tokens_milli), findings, i, "tokens_milli")
        charged = time(message.time, findings, i, "time")
        found[message.name] = EvictionRateState(message.name, message.tokens_milli, charged)
    return tuple([found[name] for name in sorted(found)])


def encode_eviction_rates(rows: Iterable[EvictionRateState]) -> list[pb.EvictionRateState]:
    """States to store."""
    return [
        pb.EvictionRateState(name=row.name, tokens_milli=row.tokens, time=timestamp(row.time)) for row in rows
    ]


def check_in_flight(messages: Sequence[snapshot_pb2.InFlightGroup], findings: ViolationCollector) -> None:
    """Add violations for invalid IDs and times."""
    index_names([group.id for group in messages], findings, "id")
    for i, message in enumerate(messages):
        findings.step()
        if message.HasField("expire_time"):
            time(message.expire_time, findings, i, "expire_time")
        else:
            findings.add(i, "expire_time", MISSING)
        if message.HasField("evict_time"):
            time(message.evict_time, findings, i, "evict_time")
        elif message.notices:
            findings.add(i, "evict_time", MISSING)


@dataclass(frozen=True, slots=True)
class InFlightRows:
    """Objects that in-flight decisions refer to."""

    task: Callable[[str], Task | None]
    """Pod by UID."""
    pod_group: Callable[[str], PodGroup | None]
    """Pod group by UID."""
    nodes: Sequence[Node]
    node_ranks: Mapping[str, int]
    slots: Mapping[str, int]
    """Position of each resource name."""
    pace: Pace


def decode_in_flight(
    messages: Sequence[snapshot_pb2.InFlightGroup],
    rows: InFlightRows,
) -> tuple[InFlightGroup, ...]:
    """In-flight groups by ID. The messages were checked."""
    return tuple(_group(message, rows) for message in sorted(messages, key=lambda message: message.id))


def _group(message: snapshot_pb2.InFlightGroup, known: InFlightRows) -> InFlightGroup:
    return InFlightGroup(
        id=message.id,
        action=message.action,
        beneficiary=_index(known.pod_group(message.beneficiary)),
        expire_time=message.expire_time.ToNanoseconds(),
        evictions=_decisions(message.evictions, known),
        reservations=_decisions(message.reservations, known),
        bindings=_decisions(message.bindings, known),
        notices=_decisions(message.notices, known),
        evict_time=message.evict_time.ToNanoseconds(),
    )


def _decisions(
    messages: Iterable[snapshot_pb2.InFlightDecision], known: InFlightRows
) -> tuple[InFlightDecision, ...]:
    return tuple(sorted(_decision(message, known) for message in messages))


def _decision(message: snapshot_pb2.InFlightDecision, known: InFlightRows) -> InFlightDecision:
    known.pace.step()
    node, task = known.node_ranks.get(message.node, NOWHERE), known.task(message.pod)
    return InFlightDecision(
        pod=message.pod,
        task=NOWHERE if task is None else task.index,
        node=node,
        pod_group=_index(known.pod_group(message.pod_group)) if task is None else task.pod_group,
        gpu_groups=tuple(message.gpu_groups),
        zones=() if node == NOWHERE else _zones(message, known.nodes[node], known.slots),
        sub_group=message.sub_group,
    )


def _index(group: PodGroup | None) -> int:
    return NOWHERE if group is None else group.index


def _zones(message: snapshot_pb2.InFlightDecision, node: Node, slots: Mapping[str, int]) -> Zones:
    """Amounts in the zones of the node; empty if they are invalid."""
    amounts = (placement.amounts.extended for placement in message.numa_placement)
    if any(name not in slots for extended in amounts for name in extended):
        return ()
    findings = ViolationCollector("in_flight_groups")
    zones = decode_placement(0, message.numa_placement, node.numa_zones, slots, findings)
    return () if findings.violations() else zones
