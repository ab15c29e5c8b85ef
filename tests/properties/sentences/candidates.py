"""Sentences about candidates: how many there are, why each stays, and whether the evictable ones suffice."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus

from tests.properties.checks.guard_facts import ALL, NOTHING
from tests.properties.sentences.applied import (
    GONE,
    PLACED,
    settled,
    with_group_facts,
    with_placements,
    with_queues,
    without_pending,
)
from tests.properties.sentences.case import Case, Said, number
from tests.properties.sentences.reasons import NO_LIMIT, anywhere, in_favor, keeping_starts, only_free

_SHORT: Final = re.compile(r"([\d,]+) evictable, but ([^,)]*)")
_ACTION: Final = re.compile(r"^(\w+): ")


def counted(case: Case, said: Said) -> Iterator[str]:
    """ACTION: N candidates (A are .., B are ..): so many run in its queues, and the parts are N."""
    action = _ACTION.match(said.text)
    assert action is not None, said.text
    total, parts = number(said.text.partition(": ")[2]), said.text[said.text.rindex("(") + 1 : -2].split(", ")
    named = [number(part) for part in parts if re.match(r"[\d,]+ ", part)]
    if sum(named) != total:
        yield f"{said.text} The parts are {sum(named)}"
    here = _candidates(case, said, action[1])
    if total > len(here):
        yield f"{said.text} {len(here)} run there"
    if (short := _SHORT.search(said.text)) is not None:
        yield from _is_short(case, said, action[1], number(short[1]), short[2])


def _candidates(case: Case, said: Said, action: str) -> list[int]:
    own = case.cluster.pod_groups[said.about].queue
    found = []
    for group in case.cluster.pod_groups:
        same = group.queue == own
        if group.index == said.about or (action == "preempt" and not same) or (action == "reclaim" and same):
            continue
        status = [case.cluster.tasks[task].placement.status for task in group.tasks]
        if any(each.is_active_used for each in status):
            found.append(group.index)
    return found


def _is_short(case: Case, said: Said, action: str, count: int, why: str) -> Iterator[str]:
    """If all that may be evicted were gone, it would not fit, and for that reason.

    Counted only where all of them are known.
    """
    facts = case.guards.after_group(case.decision.groups)
    own = case.cluster.pod_groups[said.about]
    victims = []
    for index in _candidates(case, said, action):
        if action == "preempt" and case.cluster.pod_groups[index].facts.priority >= own.facts.priority:
            continue
        verdicts = facts.verdicts(action, said.about, index)
        if all(each.protects == NOTHING for each in verdicts):
            victims.append(index)
        elif not any(each.protects == ALL for each in verdicts):
            return
    if len(victims) != count or action == "consolidation":
        return
    running = _running(case, victims)
    if running:
        yield from _suffice(case, said, running, why)


def _running(case: Case, victims: Iterable[int]) -> list[int]:
    """Pods of these pod groups that run, before the cycle."""
    tasks = [task for victim in victims for task in case.cluster.pod_groups[victim].tasks]
    return [task for task in tasks if case.cluster.tasks[task].placement.status is TaskStatus.RUNNING]


def _suffice(case: Case, said: Said, leaving: list[int], why: str) -> Iterator[str]:
    """What is said of pods if all of them leave: too few amounts, no permitted place, or a bound.

    It is tried at the end of the cycle and at its begin: capacity may have been given away between.
    """
    uids = {row.pod_group for row in case.cluster.carried.rows(PLANNED_STARTS)}
    owners = [group.index for group in case.cluster.pod_groups if group.facts.uid in uids]
    states = [
        settled(case.cluster, case.decision, said.about, *owners),
        without_pending(case.cluster, said.about, *owners),
    ]
    gone = [with_placements(each, dict.fromkeys(leaving, GONE)) for each in states]
    later = gone[0].carrying(PLANNED_STARTS, case.decision.planned_starts or ())
    starts = all(case.is_placed(each, said.about, keeping_starts(case)) for each in (later, *gone))
    if "enough" in why and "would free enough" not in why:
        amounts = [in_favor(case, said.about, anywhere(each, said.about)) for each in gone]
        if all(case.is_placed(each, said.about, only_free(case)) for each in amounts):
            yield f"{said.text} They would, but it may {'' if starts else 'not '}start"
    elif "not where" in why:
        amounts = [in_favor(case, said.about, anywhere(each, said.about)) for each in gone]
        if starts or not any(case.is_placed(each, said.about, only_free(case)) for each in amounts):
            yield f"{said.text} {'It may start' if starts else 'They would not'}"
    elif "a limit or quota" in why:
        amounts = [anywhere(each, said.about) for each in gone]
        bounded, unbounded = (
            [case.is_placed(each, said.about, only_free(case)) for each in some]
            for some in (amounts, [_unbounded(each) for each in amounts])
        )
        if starts or all(bounded) or not any(unbounded):
            yield f"{said.text} {'It may start' if starts else 'It would not without them'}"


def _unbounded(cluster: Cluster) -> Cluster:
    """No queue has a limit or a quota."""
    facts: dict[str, Any] = {"limit": NO_LIMIT, "class_limits": (), "quota": NO_LIMIT}
    return with_queues(cluster, lambda queue: replace(queue, facts=replace(queue.facts, **facts)))


def none(case: Case, said: Said) -> Iterator[str]:
    """ACTION: no candidates: no other pod group runs in the queues that it takes from."""
    action = _ACTION.match(said.text)
    assert action is not None, said.text
    here = [
        each
        for each in _candidates(case, said, action[1])
        if any(
            case.cluster.tasks[task].placement.status.is_active_allocated
            and case.after[task].status.is_active_allocated
            for task in case.cluster.pod_groups[each].tasks
        )
    ]
    if here and case.cluster.pod_groups[said.about].queue is not None:
        yield f"{said.text} {len(here)} run there"


def not_eligible(case: Case, said: Said) -> Iterator[str]:
    """ACTION: not eligible, because ..: it evicts nothing for it in this cycle."""
    action = _ACTION.match(said.text)
    assert action is not None, said.text
    if any(group.beneficiary == said.about and group.action == action[1] for group in case.decision.groups):
        yield f"{said.text} It does"


def stays(case: Case, said: Said) -> Iterator[str]:
    """Y is not evicted by ACTION because ..: it is not, and what is said of its priority and guards is so."""
    victim, about = case.cluster.pod_groups[said.other], case.cluster.pod_groups[said.about]
    action = re.search(r"evicted by (\w+)", said.text)
    if action is not None and _is_evicted(case, said, action[1]):
        yield f"{said.text} It is"
    if "priority is not lower" in said.text and victim.facts.priority < about.facts.priority:
        yield f"{said.text} It is lower"
    if "it is non-preemptible" in said.text and victim.is_evictable:
        yield f"{said.text} It is evictable"
    if "opts out of" in said.text and not victim.facts.opt_out_actions:
        yield f"{said.text} It opts out of nothing"
    if action is not None and " it alone would " in said.text:
        yield from _alone(case, said, action[1])


def _alone(case: Case, said: Said, action: str) -> Iterator[str]:
    """Y alone is not enough for X: by amounts, by where the pods of X may run, or by other rules."""
    victim, about = case.cluster.pod_groups[said.other], case.cluster.pod_groups[said.about]
    if "relocating it alone" in said.text:
        if _relocates(case, said):
            yield f"{said.text} It would"
        return
    verdicts = case.guards.verdicts(action, said.about, said.other)
    if action == "consolidation" or any(each.protects != NOTHING for each in verdicts):
        return
    if "would not free enough" not in said.text or victim.queue == about.queue:
        yield from _suffice(case, said, _running(case, [said.other]), said.text)


def _relocates(case: Case, said: Said) -> bool:
    """Whether consolidation makes a place for X by relocating pods of Y, with all others left alone."""
    cluster = case.settled(said.about)
    for group in cluster.pod_groups:
        if group.index not in (said.about, said.other):
            left_alone = group.facts.opt_out_actions | {"consolidation"}
            cluster = with_group_facts(cluster, group.index, opt_out_actions=left_alone)
    decision = case.decide(cluster, replace(case.profile, actions=("consolidation",)))
    return any(group.evictions for group in decision.groups if group.beneficiary == said.about)


def _is_evicted(case: Case, said: Said, action: str = "") -> bool:
    tasks = case.cluster.tasks
    return any(
        tasks[step.task].pod_group == said.other
        for group in case.decision.groups
        if group.beneficiary == said.about and (not action or group.action == action)
        for step in group.evictions
    )


def goes(case: Case, said: Said) -> Iterator[str]:
    """Y is evicted for X, or has notice for it."""
    notices = [
        step.pod_group
        for group in case.cluster.in_flight
        if group.beneficiary == said.about
        for step in group.notices
    ]
    noticed = [
        case.cluster.tasks[step.task].pod_group
        for group in case.decision.groups
        if group.beneficiary == said.about
        for step in group.notices.evictions
    ]
    if not _is_evicted(case, said) and said.other not in (*notices, *noticed):
        yield f"{said.text} It is not"


def does_not_run(case: Case, said: Said) -> Iterator[str]:
    """Y has no running pod that could be evicted."""
    tasks = case.cluster.pod_groups[said.other].tasks
    if any(case.cluster.tasks[t].placement.status is TaskStatus.RUNNING for t in tasks):
        yield f"{said.text} It has"


def needs_none(case: Case, said: Said) -> Iterator[str]:
    """X is scheduled without evictions, or no pod had to be evicted."""
    outcome = case.outcome(said.about)
    if outcome is None or outcome.kind not in PLACED:
        yield f"{said.text} It is not scheduled"
    if any(group.evictions for group in case.decision.groups if group.beneficiary == said.about):
        yield f"{said.text} Pods are evicted for it"


def not_needed(case: Case, said: Said) -> Iterator[str]:
    """Y could be evicted for X by ACTION, but was not needed: no guard protects all of it."""
    action = re.search(r" by (\w+), but", said.text)
    assert action is not None, said.text
    verdicts = case.guards.verdicts(action[1], said.about, said.other)
    if any(each.protects == ALL for each in verdicts):
        yield f"{said.text} {verdicts} protect it"


def others_went(case: Case, said: Said) -> Iterator[str]:
    """Other victims, such as Z, freed enough capacity."""
    victim = case.index(said.text)
    lost = {
        case.cluster.tasks[step.task].pod_group
        for group in case.decision.groups
        if group.beneficiary == said.about
        for step in (*group.evictions, *group.notices.evictions)
    }
    if victim not in lost:
        yield f"{said.text} It is no victim"


def keeps_running(case: Case, said: Said) -> Iterator[str]:
    """requeue: it keeps running because ..: requeue does not evict it."""
    tasks = case.cluster.tasks
    if any(
        tasks[step.task].pod_group == said.other
        for group in case.decision.groups
        if group.action == "requeue"
        for step in group.evictions
    ):
        yield f"{said.text} It is requeued"
