"""Cycles as people read them: decision groups as steps, with victims and reasons."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.console.view import View
from tenure.v1 import decision_pb2 as pb
from tenure.v1.cycles_pb2 import RecentCycle
from tenure.wire.enum_labels import enum_label

_MINIMALITY: Final = {
    pb.MINIMALITY_PROVEN: "every victim is needed",
    pb.MINIMALITY_HEURISTIC: "some victims may be needless",
    pb.MINIMALITY_NOT_TRIED: "no smaller set was tried",
}


@dataclass
class Victim:
    """A pod group of which pods are evicted."""

    uid: str
    name: str
    pods: int = 0
    relocated: int = 0
    reason: str = ""
    guards: list[str] = field(default_factory=list)
    """Guards that allowed it."""


@dataclass(frozen=True)
class Step:
    """One decision group."""

    group: pb.DecisionGroup
    beneficiary: str
    """Name of the pod group."""
    victims: Sequence[Victim]
    bound: Sequence[str]
    """Nodes of bound pods."""
    reserved: Sequence[str]
    """Nodes of reservations."""
    requeued: Sequence[pb.Requeue]
    reason: str
    victim_set: str


@dataclass(frozen=True)
class CycleRow:
    """One cycle."""

    cycle: RecentCycle
    steps: Sequence[Step]
    bound: int
    evicted: int
    waiting: int

    @property
    def version(self) -> int:
        """Version of the state that was decided on."""
        return self.cycle.response.header.version


def cycle_rows(view: View, action: str = "") -> Sequence[CycleRow]:
    """Cycles, newest first; with an action, only those with groups of it."""
    rows = [cycle_row(view, cycle) for cycle in reversed(view.cycles)]
    return [row for row in rows if any(step.group.action == action for step in row.steps)] if action else rows


def cycle_row(view: View, cycle: RecentCycle) -> CycleRow:
    """One cycle."""
    steps = [_step(view, group) for group in cycle.response.groups]
    outcomes = cycle.response.outcomes
    return CycleRow(
        cycle=cycle,
        steps=[step for step in steps if step.victims or step.bound or step.reserved or step.requeued],
        bound=sum(len(step.bound) for step in steps),
        evicted=sum(victim.pods for step in steps for victim in step.victims),
        waiting=sum(outcome.kind != pb.OUTCOME_KIND_BOUND for outcome in outcomes),
    )


def _step(view: View, group: pb.DecisionGroup) -> Step:
    victims: dict[str, Victim] = {}
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    requeued: list[pb.Requeue] = []
    reasons: dict[str, str] = {}
    for decision in group.decisions:
        kind = decision.WhichOneof("kind") or ""
        reasons.setdefault(kind, decision.reason.message)
        match kind:
            case "evict":
                evict = decision.evict
                victim = victims.setdefault(
                    evict.pod_group, Victim(evict.pod_group, view.names.name(evict.pod_group))
                )
                victim.pods += 1
                victim.relocated += evict.relocating
                victim.reason = victim.reason or decision.reason.detail or decision.reason.message
                victim.guards = victim.guards or [verdict.guard for verdict in evict.guards]
            case "bind":
                nodes["bind"].append(decision.bind.node)
            case "reserve":
                nodes["reserve"].append(decision.reserve.node)
            case "requeue":
                requeued.append(decision.requeue)
    main = next((reasons[kind] for kind in ("requeue", "evict", "reserve", "bind") if kind in reasons), "")
    return Step(
        group=group,
        beneficiary=view.names.name(group.beneficiary),
        victims=list(victims.values()),
        bound=nodes["bind"],
        reserved=nodes["reserve"],
        requeued=requeued,
        reason=main,
        victim_set=_MINIMALITY.get(group.victim_set.minimality, "") if group.HasField("victim_set") else "",
    )


@dataclass(frozen=True)
class InFlight:
    """A decision group that is being applied."""

    id: str
    action: str
    beneficiary: str
    name: str
    expires: int
    """In nanoseconds."""
    missing: str
    state: str


def in_flight(view: View) -> Sequence[InFlight]:
    """Groups in flight of the state, with their states of the newest cycle."""
    states = {status.id: status for status in view.response.in_flight_group_statuses}
    found = []
    for group in view.snapshot.in_flight_groups:
        parts = (
            ("eviction", group.evictions),
            ("reservation", group.reservations),
            ("binding", group.bindings),
        )
        missing = [f"{len(rows)} {word}{'s' if len(rows) != 1 else ''}" for word, rows in parts if rows]
        status = states.get(group.id)
        found.append(
            InFlight(
                *(group.id, group.action, group.beneficiary, view.names.name(group.beneficiary)),
                expires=group.expire_time.ToNanoseconds(),
                missing=", ".join(missing),
                state=enum_label(pb.InFlightGroupState, status.state).replace("_", " ") if status else "",
            )
        )
    return found
