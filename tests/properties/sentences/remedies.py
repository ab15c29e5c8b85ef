"""Remedies: the change is made as the sentence says, and cycles are played on.

The changed cluster comes first. Those after it are smaller changes of the same kind: if one of them lets the
pod group run, the remedy was not the smallest.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState, OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import CPU, GPU, MEMORY
from tenure.solver.model.workload import PodGroup, PodSet
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import apply_decisions
from tenure.terms.reasons import ReasonCode

from tests.properties.sentences.applied import (
    GONE,
    MINUTE,
    PLACED,
    outcome_of,
    with_bound,
    with_group,
    with_group_facts,
    with_more_nodes,
    with_placements,
)
from tests.properties.sentences.case import Case, Said, moments, number

RESOURCES: Final = {"GPU": (GPU, 1000, 100), "CPU": (CPU, 1000, 1000), "memory": (MEMORY, 2**30, 2**30)}
"""Index, unit of the text and step of each resource."""
_RAISED: Final = re.compile(r"queue (\S+) from (-?[\d.e+]+) to ([\d.e+]+)")
_EVICTED: Final = re.compile(r"after ([\d,]+) pods? of ")
_NOT_STARTED: Final = re.compile(r"; ([^;]*) then (?:does|do) not start")
_LOST: Final = re.compile(r"; ([^;]*) then (?:loses|lose) ([\d,]+) pods?")
_OF: Final = re.compile(r"([\d,]+) of pod group (\S+) \(queue")
_LATER: Final = 5
"""Cycles after the first in which a change may still place the pod group."""
_ROUNDS: Final = 70
"""Cycles in which something that waits until a time is played on to that time."""

Changes = Callable[[Case, int, str], Iterator[Cluster]]


def reduced_minimum(case: Case, about: int, text: str) -> Iterator[Cluster]:
    """Reduce its minimum from A to B pods."""
    before, after = (int(found) for found in re.findall(r"\d+", text)[:2])
    for minimum in range(after, before):
        yield with_group(case.cluster, about, partial(_with_minimum, minimum))


def _with_minimum(minimum: int, group: PodGroup) -> PodGroup:
    (part,) = group.pod_sets
    smaller = PodSet(part.index, part.name, minimum, part.tasks, part.topology)
    return replace(group, root=replace(group.root, members=(smaller,)), pod_sets=(smaller,))


def raised_priority(case: Case, about: int, text: str) -> Iterator[Cluster]:
    """Raise its priority from A to B."""
    before, after = (int(found) for found in re.findall(r"-?\d+", text)[:2])
    others = {group.facts.priority for group in case.cluster.pod_groups}
    lower = sorted({each + more for each in others for more in (0, 1)})
    for priority in (after, *[each for each in lower if before < each < after]):
        yield with_group_facts(case.cluster, about, priority=priority)


def made_preemptible(case: Case, about: int, _: str) -> Iterator[Cluster]:
    """Make it preemptible without opt-outs."""
    facts = {"preemptibility": Preemptibility.PREEMPTIBLE, "opt_out_actions": frozenset[str]()}
    yield with_group_facts(case.cluster, about, **facts)


def larger_bound(case: Case, _: int, text: str) -> Iterator[Cluster]:
    """Raise the RESOURCE quota or limit of queues from A to B."""
    found = re.match(r"raise the (\w+) (quota|limit) of ", text)
    assert found is not None, text
    resource, unit, step = RESOURCES[found[1]]
    raised = [(name, round(float(after) * unit)) for name, _, after in _RAISED.findall(text)]
    for less in (0, step):
        cluster = case.cluster
        for name, amount in raised:
            cluster = with_bound(cluster, [name], found[2], resource, amount - less)
        yield cluster


def more_nodes(case: Case, _: int, text: str) -> Iterator[Cluster]:
    """Add N nodes like node X."""
    count = number(text)
    name = text.partition("like node ")[2].partition(";")[0]
    for added in (count, count - 1):
        if added:
            yield with_more_nodes(case.cluster, name, added)


def without_terminating(case: Case, _: int, __: str) -> Iterator[Cluster]:
    """Wait until the pods that are terminating are gone."""
    leaving = [task.index for task in case.cluster.tasks if task.placement.status is TaskStatus.RELEASING]
    cluster = with_placements(case.cluster, dict.fromkeys(leaving, GONE))
    nodes = [
        replace(node, other_pods=tuple([each for each in node.other_pods if not each.is_terminating]))
        for node in cluster.nodes
    ]
    yield replace(cluster, nodes=tuple(nodes))


def judge(changes: Changes) -> Callable[[Case, Said], Iterator[str]]:
    """The judge of a kind of remedy."""

    def judged(case: Case, said: Said) -> Iterator[str]:
        change, _, effect = said.text.partition("; ")
        first, *smaller = changes(case, said.about, change)
        if not case.runs(first, said.about):
            yield f"{said.text} It does not run"
        if any(case.is_placed(each, said.about) and case.runs(each, said.about) for each in smaller):
            yield f"{said.text} A smaller change of the kind is enough"
        yield from _effect(case, said, first, effect)
        if change.startswith("raise the") and " quota of " in change:
            yield from _beyond_capacity(case, said, first)

    return judged


def _beyond_capacity(case: Case, said: Said, changed: Cluster) -> Iterator[str]:
    """No quota is raised above what exists."""
    for before, after in zip(case.cluster.queues, changed.queues, strict=True):
        for resource in (CPU, MEMORY, GPU):
            total = sum(node.allocatable[resource] for node in case.cluster.nodes)
            if after.facts.quota[resource] > max(total, before.facts.quota[resource]):
                yield f"{said.text} That is more than the cluster has"


def _effect(case: Case, said: Said, changed: Cluster, effect: str) -> Iterator[str]:
    """How it starts, who loses what, and who then does not start."""
    decision = first = case.decide(changed)
    for _ in range(_LATER):  # it may be placed in a later cycle
        if outcome_of(decision, said.about) in PLACED:
            break
        changed = apply_decisions(changed, decision, MINUTE)
        decision = case.decide(changed)
    own = [group for group in decision.groups if group.beneficiary == said.about]
    lost = Counter(
        case.cluster.tasks[step.task].pod_group
        for group in own
        for step in (*group.evictions, *group.notices.evictions)
    )
    told = _EVICTED.search(effect)
    if (number(told[1]) if told else 0) != lost.total():
        yield f"{said.text} {lost.total()} pods are evicted for it"
    named = {case.named(name): number(count) for count, name in _OF.findall(effect.partition("; ")[0])}
    if lost and named != dict(lost) and "other pod group" not in effect.partition("(")[2]:
        yield f"{said.text} Who loses pods is not said: {_names(case, lost)}"
    kind = outcome_of(decision, said.about)
    if ("terminating pods have released" in effect) != (kind is OutcomeKind.WAITING_FOR_RELEASE):
        yield f"{said.text} The outcome is {kind}"
    missing = _not_started(case, changed, first, decision, said.about)
    match = _NOT_STARTED.search(effect)
    named_missing = set[int]() if match is None else set(case.indices(match[1]))
    if missing != named_missing and not (" more" in effect and named_missing < missing):
        yield f"{said.text} Then does not start: {_names(case, missing)}"
    further = _others_lose(case, decision, said.about)
    match = _LOST.search(effect)
    losing = set[int]() if match is None else set(case.indices(match[1]))
    if (losing != set(further) and " more" not in effect) or (
        match is not None and number(match[2]) != sum(further.values())
    ):
        yield f"{said.text} Then loses: {_names(case, further)}"


def _not_started(case: Case, cluster: Cluster, first: CycleResult, now: CycleResult, about: int) -> set[int]:
    """Pod groups that start in the cycle as it is, and with the change not until the pod group runs."""
    started = {each.pod_group for each in case.decision.outcomes if each.kind in PLACED}
    for _ in range(_LATER + 1):
        if outcome_of(now, about) is OutcomeKind.BOUND or not started:
            break
        due = max([group.notices.evict_time for group in now.groups if group.beneficiary == about], default=0)
        cluster = apply_decisions(cluster, now, max(MINUTE, due - cluster.now))
        now = case.decide(cluster)
    for decision in (first, now):
        started &= {each.pod_group for each in decision.outcomes if each.kind not in PLACED}
    return started - {about}


def _others_lose(case: Case, decision: CycleResult, about: int) -> dict[int, int]:
    """Pods that other pod groups lose for others, beyond what they lose anyway."""

    def losses(result: CycleResult) -> Counter[int]:
        found = Counter[int]()
        for group in result.groups:
            if group.beneficiary != about:
                for step in (*group.evictions, *group.notices.evictions):
                    found[case.cluster.tasks[step.task].pod_group] += 1
        return found

    return dict(losses(decision) - losses(case.decision))


def _names(case: Case, pod_groups: dict[int, int] | set[int]) -> str:
    return ", ".join(case.cluster.pod_groups[each].facts.name for each in sorted(pod_groups)) or "none"


def wait_until(case: Case, said: Said) -> Iterator[str]:
    """Wait until TIME: with everything that is decided until then, it receives capacity then, and runs."""
    (until,) = moments(said.text)
    cluster, decision = case.cluster, case.decision
    for _ in range(_ROUNDS):
        if cluster.now >= until:
            break
        cluster = apply_decisions(cluster, decision, next_step(cluster, decision, until))
        decision = case.decide(cluster)
    if outcome_of(decision, said.about) not in PLACED:
        yield f"{said.text} It does not start then"
    elif outcome_of(decision, said.about) is not OutcomeKind.BOUND and not case.runs(cluster, said.about):
        yield f"{said.text} It does not run then"


def next_step(cluster: Cluster, decision: CycleResult, until: int | None) -> int:
    """To the next cycle: a minute after decisions, else at the time at which one is needed; 0: never.

    A cycle at `until` is not passed over.
    """
    wake = decision.next_wake_time
    busy = bool(decision.groups) or any(
        each.state is InFlightGroupState.IN_FLIGHT and each.reason.code is not ReasonCode.NOTICE_GIVEN
        for each in decision.in_flight
    )
    steps = [MINUTE] if busy else []
    if wake is not None and wake > cluster.now:
        steps.append(wake - cluster.now)
    if until is not None and until > cluster.now:
        steps.append(until - cluster.now)
    return min(steps, default=0)


def _gone(case: Case, about: int) -> Cluster:
    return next(without_terminating(case, about, ""))


def none_helps(case: Case, said: Said) -> Iterator[str]:
    """None of the tested changes would let it start: these do not, each by itself."""
    group, cluster = case.cluster.pod_groups[said.about], case.cluster
    priorities = {each.facts.priority + 1 for each in cluster.pod_groups}
    changed = {
        f"priority {each}": with_group_facts(cluster, said.about, priority=each) for each in priorities
    }
    if not group.is_preemptible or group.facts.opt_out_actions:
        changed["preemptible"] = next(made_preemptible(case, said.about, ""))
    if any(task.placement.status is TaskStatus.RELEASING for task in cluster.tasks):
        changed["terminating pods gone"] = _gone(case, said.about)
    if len(group.pod_sets) == 1 and group.root.members == group.pod_sets:
        for least in range(1, group.pod_sets[0].min_available):
            changed[f"minimum {least}"] = with_group(cluster, said.about, partial(_with_minimum, least))
    queue = None if group.queue is None else cluster.queues[group.queue]
    for name in [cluster.queues[each].facts.name for each in (() if queue is None else queue.path)]:
        for bound in ("limit", "quota"):
            total = sum(node.allocatable[GPU] for node in cluster.nodes)
            if bound == "limit" or total > getattr(cluster.queues[case.queue(name)].facts, bound)[GPU] >= 0:
                changed[f"{bound} of {name}"] = with_bound(cluster, [name], bound, GPU, total)
    for what, each in changed.items():
        if case.is_placed(each, said.about) and case.runs(each, said.about, _LATER):
            yield f"{said.text} It starts with {what}"


def usual(case: Case, said: Said) -> Iterator[str]:
    """Usual remedy: said only where no change was found, and of a reason that it can change."""
    if case.results[said.question, said.about, said.other].remedies:
        yield f"{said.text} Others were found"
