"""Cycles as people read them: decision groups as steps, with victims and reasons."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.console.formatting import gpu_time
from tenure.console.view import View
from tenure.terms.formatting import count_gpus
from tenure.v1 import decision_pb2 as pb
from tenure.v1.cycles_pb2 import RecentCycle
from tenure.wire.enum_labels import enum_label

MAX_ROWS: Final = 20
MAX_STEPS: Final = 8
"""Steps of a cycle among others; its own page has more."""
MAX_STEPS_OF_ONE: Final = 500
_MINIMALITY: Final = {
    pb.MINIMALITY_PROVEN: "every victim is needed",
    pb.MINIMALITY_LEAST: "no fewer pods are possible",
    pb.MINIMALITY_HEURISTIC: "some victims may be needless",
    pb.MINIMALITY_NOT_TRIED: "no smaller set was tried",
}
_MAIN_KINDS: Final = ("requeue", "evict", "notify", "withdraw_notice", "reserve", "bind")
"""Kinds of decisions, the one that says most about its group first."""


@dataclass
class Victim:
    """A pod group with its pods that a step evicts, gives notice, or spares."""

    uid: str
    name: str
    pods: int = 0
    relocated: int = 0
    reason: str = ""
    guards: list[str] = field(default_factory=list)
    """Guards that allowed it."""
    cost: int | None = None
    """In GPU-seconds; None: costs are not counted."""
    lost: int = 0
    """Of the cost: work that is lost."""
    evict_time: int = 0
    """When its notice ends; 0: its pods are evicted at once."""
    is_spared: bool = False
    """Whether its notice is withdrawn."""


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
    next_best: str
    """What the best other set of victims would have disrupted; empty: none was compared."""


@dataclass(frozen=True)
class CycleRow:
    """One cycle."""

    cycle: RecentCycle
    steps: Sequence[Step]
    more: int
    """Steps that are left out."""
    bound: int
    evicted: int
    waiting: int

    @property
    def version(self) -> int:
        """Version of the state that was decided on."""
        return self.cycle.response.header.version


def cycle_rows(view: View, action: str = "", number: int = 0) -> Sequence[CycleRow]:
    """The newest cycles first, or the one with a number; with an action, only those with groups of it."""
    wanted = [cycle for cycle in reversed(view.cycles) if number in (0, cycle.number)]
    if action:
        wanted = [cycle for cycle in wanted if any(group.action == action for group in cycle.response.groups)]
    most = MAX_STEPS_OF_ONE if number else MAX_STEPS
    return [_cycle_row(view, cycle, most) for cycle in wanted[:MAX_ROWS]]


def _cycle_row(view: View, cycle: RecentCycle, most: int) -> CycleRow:
    response = cycle.response
    groups = [group for group in response.groups if any(_acts(decision) for decision in group.decisions)]
    kinds = Counter(decision.WhichOneof("kind") for group in groups for decision in group.decisions)
    return CycleRow(
        cycle=cycle,
        steps=[_step(view, group) for group in groups[:most]],
        more=max(0, len(groups) - most),
        bound=kinds["bind"],
        evicted=kinds["evict"],
        waiting=sum(outcome.kind != pb.OUTCOME_KIND_BOUND for outcome in response.outcomes),
    )


def _acts(decision: pb.Decision) -> bool:
    return bool(decision.WhichOneof("kind") != "patch")


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
            case "notify":
                notice = decision.notify
                victim = victims.setdefault(
                    notice.pod_group, Victim(notice.pod_group, view.names.name(notice.pod_group))
                )
                victim.pods += 1
                victim.evict_time = notice.evict_time.ToNanoseconds()
                victim.guards = victim.guards or [verdict.guard for verdict in notice.guards]
            case "withdraw_notice":
                uid = decision.withdraw_notice.pod_group
                victim = victims.setdefault(uid, Victim(uid, view.names.name(uid)))
                victim.pods += 1
                victim.is_spared = True
            case "bind":
                nodes["bind"].append(decision.bind.node)
            case "reserve":
                nodes["reserve"].append(decision.reserve.node)
            case "requeue":
                requeued.append(decision.requeue)
    for cost in group.victim_set.victim_costs:
        if cost.pod_group in victims:
            victims[cost.pod_group].cost, victims[cost.pod_group].lost = cost.cost, cost.lost
    main = next((reasons[kind] for kind in _MAIN_KINDS if kind in reasons), "")
    return Step(
        group=group,
        beneficiary=view.names.name(group.beneficiary),
        victims=list(victims.values()),
        bound=nodes["bind"],
        reserved=nodes["reserve"],
        requeued=requeued,
        reason=main,
        victim_set=_victims(group.victim_set) if group.HasField("victim_set") else "",
        next_best=_next_best(group.victim_set),
    )


def _victims(known: pb.VictimSet) -> str:
    """Whether all of them are needed, and what they free beyond the request."""
    excess = known.excess_gpu_milli
    parts = [
        _MINIMALITY.get(known.minimality, ""),
        f"{count_gpus(excess)} freed beyond the request" if excess else "",
    ]
    return "; ".join(filter(None, parts))


def _next_best(found: pb.VictimSet) -> str:
    if not found.HasField("next_best_pods"):
        return ""
    cost = f", {gpu_time(found.next_best_cost)}" if found.HasField("next_best_cost") else ""
    return f"{found.next_best_pods} {'pod' if found.next_best_pods == 1 else 'pods'}{cost}"


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
            ("notice", group.notices),
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
