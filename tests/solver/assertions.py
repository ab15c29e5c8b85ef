"""The result of a cycle with in-flight groups, in a form for assertions."""

from typing import NamedTuple

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult, InFlightGroupState
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.terms.reasons import ReasonCode


class InFlightCycle(NamedTuple):
    """States of in-flight groups with their reasons, and decisions by pod uids and node names."""

    results: dict[str, tuple[InFlightGroupState, ReasonCode]]
    kept_reservations: dict[str, str]
    reserved: dict[str, str]
    bound: dict[str, str]
    evicted: list[str]
    decision: CycleResult


def run_in_flight_cycle(builder: ClusterBuilder, profile: Profile | None = None) -> InFlightCycle:
    """Run a cycle. `kept_reservations` are those of in-flight groups, `reserved` those of new groups."""
    cluster = builder.build()
    decision = answer(cluster, default_profile() if profile is None else profile)
    tasks, nodes = cluster.tasks, cluster.nodes
    kept = [hold for status in decision.in_flight for hold in status.reservations]
    held = [hold for group in decision.groups for hold in group.reservations]
    bound = [bind for group in decision.groups for bind in group.bindings]
    return InFlightCycle(
        results={cluster.in_flight[s.group].id: (s.state, s.reason.code) for s in decision.in_flight},
        kept_reservations={tasks[hold.task].facts.uid: nodes[hold.node].facts.name for hold in kept},
        reserved={tasks[hold.task].facts.uid: nodes[hold.node].facts.name for hold in held},
        bound={tasks[bind.task].facts.uid: nodes[bind.node].facts.name for bind in bound},
        evicted=sorted(tasks[task].facts.uid for task in evictions(decision)),
        decision=decision,
    )
