"""What happens if only time passes: cycles are played on, as a caller would run them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tenure.solver.model.decision import CycleResult, DecisionGroup, OutcomeKind
from tenure.solver.testing import apply_decisions
from tenure.terms.reasons import REASONS

from tests.properties.sentences.applied import MINUTE, PLACED, outcome_of
from tests.properties.sentences.case import Case, Said, moments
from tests.properties.sentences.remedies import next_step

CYCLES: Final = 70
_LATER: Final = (5, 61, 24 * 60)
"""Minutes after which nothing is to change where no evaluation is said to be needed."""


def cycle_at(case: Case, time: int) -> CycleResult:
    """The decision of the cycle at a time, with everything before it carried out."""
    cluster, decision = case.cluster, case.decision
    for _ in range(CYCLES):
        if cluster.now >= time:
            break
        cluster = apply_decisions(cluster, decision, next_step(cluster, decision, time))
        decision = case.decide(cluster)
    return decision


def never_starts(case: Case, said: Said) -> Iterator[str]:
    """It does not start by waiting, or not in N cycles: cycles until nothing more happens do not start it."""
    cluster, decision, last = case.cluster, case.decision, None
    if times := moments(said.text):
        last = times[-1]
    for _ in range(CYCLES):
        elapsed = next_step(cluster, decision, last)
        if not elapsed or (last is not None and cluster.now >= last):
            return
        cluster = apply_decisions(cluster, decision, elapsed)
        decision = case.decide(cluster)
        if outcome_of(decision, said.about) is OutcomeKind.BOUND:
            yield f"{said.text} It starts at +{(cluster.now - case.cluster.now) // MINUTE} minutes"
            return
    if last is None and outcome_of(decision, said.about) in PLACED:
        yield f"{said.text} It has capacity in the end"


def still_pending(case: Case, said: Said) -> Iterator[str]:
    """At TIME it is still pending because REASON: it is, if all decisions until then are carried out."""
    (time, *_) = moments(said.text)
    decision = cycle_at(case, time)
    found = next((each for each in decision.outcomes if each.pod_group == said.about), None)
    if found is None or found.kind in PLACED:
        yield f"{said.text} It is placed then"
        return
    own = case.cluster.pod_groups[said.about]
    clause = REASONS[found.reason.code].clause.format(queue=f"queue {own.facts.queue_name}")
    if clause not in said.text and found.reason.detail.rstrip(".") not in said.text:
        yield f"{said.text} The reason is {found.reason.code.name} then"
    if (match := re.search(r"; capacity goes to (.*)\.$", said.text)) is not None:
        given = {g.beneficiary for g in decision.groups if g.bindings or g.reservations}
        if not given.issuperset(case.indices(match[1])):
            yield f"{said.text} Capacity goes to others"


def next_evaluation(case: Case, said: Said) -> Iterator[str]:
    """Next evaluation needed at TIME, or none: before it, a cycle on the same cluster decides nothing more.

    Of a cycle that decides something, nothing is checked: what it changes is looked at again anyway.
    """
    if case.decision.groups or case.cluster.in_flight:
        return
    now, wake = case.cluster.now, case.decision.next_wake_time
    ends = [now + minutes * MINUTE for minutes in _LATER] if wake is None else [(now + wake) // 2, wake - 1]
    for time in ends:
        if time > now and any(_acts(group) for group in case.decide(replace(case.cluster, now=time)).groups):
            yield f"{said.text} A cycle {(time - now) / MINUTE:g} minutes later decides something"
            return


def _acts(group: DecisionGroup) -> bool:
    return bool(group.bindings or group.evictions or group.reservations or group.notices.evictions)
