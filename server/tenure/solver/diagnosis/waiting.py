"""Consecutive cycles on a copy of the cluster, until a pod group runs: what happens if only time passes.

Decisions are applied after a cycle as in a simulation: bound pods run, evicted pods are pending again a
minute later. While a cycle decides nothing and only notices are in flight, the next one is at its wake time.
"""

from typing import Final, NamedTuple

from tenure.solver.diagnosis.what_if import HELPFUL_OUTCOMES, TrialResult, WhatIfTrials
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState, OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.solver.play.next_cluster import INTERVAL, apply_decisions
from tenure.terms.reasons import ReasonCode

MAX_CYCLES: Final = 60
"""Cycles after the one that is explained."""


class PendingAt(NamedTuple):
    """A cycle in which the pod group is still pending."""

    time: int
    rejection: Rejection
    others: tuple[int, ...]
    """Pod groups that receive capacity in this cycle, without those that a decision moves."""


class Waiting(NamedTuple):
    """What the cycles gave."""

    result: TrialResult | None = None
    """How it received the capacity on which it runs; None: it did not run."""
    until: int | None = None
    """When it received the capacity, in nanoseconds since the Unix epoch."""
    pending: tuple[PendingAt, ...] = ()
    """Cycles in which it was pending, in order."""
    is_complete: bool = True
    """Whether it ran, or nothing more happens by time alone. False: the maximum number of cycles."""


def wait(trials: WhatIfTrials, cluster: Cluster, decision: CycleResult, pod_group: int) -> Waiting:
    """Play cycles after a first one, until the pod group runs or nothing more happens."""
    pending: list[PendingAt] = []
    result: TrialResult | None = None
    until: int | None = None
    for _ in range(MAX_CYCLES):
        elapsed = _elapsed(cluster, decision)
        if elapsed is None:
            return Waiting(pending=tuple(pending))
        cluster = apply_decisions(cluster, decision, elapsed)
        decision = trials.decide(cluster)
        outcome = next((each for each in decision.outcomes if each.pod_group == pod_group), None)
        if outcome is None or outcome.kind not in HELPFUL_OUTCOMES:
            result = until = None
            if outcome is not None:
                pending.append(PendingAt(cluster.now, outcome.reason, _placed(decision)))
            continue
        if result is None:
            result, until = trials.has_helped(cluster, decision), cluster.now
        if outcome.kind is OutcomeKind.BOUND:
            return Waiting(result, until, tuple(pending))
    return Waiting(pending=tuple(pending), is_complete=False)


def _elapsed(cluster: Cluster, decision: CycleResult) -> int | None:
    """Nanoseconds to the next cycle; None: time changes nothing."""
    wake = decision.next_wake_time
    to_wake = None if wake is None or wake <= cluster.now else wake - cluster.now
    in_flight = any(
        each.state is InFlightGroupState.IN_FLIGHT and each.reason.code is not ReasonCode.NOTICE_GIVEN
        for each in decision.in_flight
    )
    if decision.groups or in_flight:
        return INTERVAL if to_wake is None else min(INTERVAL, to_wake)
    return to_wake


def _placed(decision: CycleResult) -> tuple[int, ...]:
    """Beneficiaries of bindings and reservations."""
    groups = (group for group in decision.groups if group.bindings or group.reservations)
    return tuple(sorted({group.beneficiary for group in groups}))
