"""Sentences about evictions: who loses what to whom and why, whether fewer would do, and what it costs."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import DecisionGroup, Evict
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import CPU, UNLIMITED
from tenure.solver.model.workload_parts import TaskShape

from tests.properties.checks.guard_facts import ALL
from tests.properties.sentences.applied import GONE, with_placements, without_pending
from tests.properties.sentences.case import Case, Said, amount, moments, number
from tests.properties.sentences.reasons import only_free
from tests.properties.victims.proven_victims import find_needless_victims

_ROUNDING: Final = 0.05
"""Of GPUs in words."""
_INACCURACY: Final = 0.05
"""Of times in words."""
_SECONDS: Final = {"GPU second": 1, "GPU minute": 60, "GPU hour": 3600}


def steps_of(group: DecisionGroup) -> list[Evict]:
    """What a group evicts, or gives notice to."""
    return [*group.evictions, *group.notices.evictions]


def _own(case: Case, said: Said) -> list[tuple[DecisionGroup, list[Evict]]]:
    """Decision groups with victims of the pod group, in order."""
    found = []
    for group in case.decision.groups:
        own = [each for each in steps_of(group) if case.cluster.tasks[each.task].pod_group == said.about]
        if own:
            found.append((group, own))
    return found


def evicted(case: Case, said: Said) -> Iterator[str]:
    """N pods of X evicted for Y by ACTION: RULE. The rule holds on the cluster."""
    named = set(case.indices(said.text))
    for group, own in _own(case, said):
        is_own = group.beneficiary in (NOWHERE, said.about)
        if len(own) == number(said.text) and (
            is_own or (f" by {group.action}" in said.text and group.beneficiary in named)
        ):
            yield from _rule(case, said, group, own)
            return
    yield f"{said.text} No such decision was made"


def _rule(case: Case, said: Said, group: DecisionGroup, own: list[Evict]) -> Iterator[str]:
    if group.beneficiary >= 0 and group.beneficiary != said.about:
        preemptor, victim = case.cluster.pod_groups[group.beneficiary], case.cluster.pod_groups[said.about]
        if group.action == "preempt" and not (
            preemptor.queue == victim.queue and preemptor.facts.priority > victim.facts.priority
        ):
            yield f"{said.text} It has no higher priority in the same queue"
        if group.action == "reclaim":
            yield from _shares(case, said, preemptor.queue, victim.queue)
        if group.action == "consolidation" and not all(step.relocating for step in own):
            yield f"{said.text} A pod does not restart"
    moving = sum(step.relocating for step in own)
    told = re.search(r"\((\d+) restart on another node\)", said.text)
    if moving != (int(told[1]) if told else 0):
        yield f"{said.text} {moving} move"
    if (end := group.notices.evict_time) and end not in moments(said.text):
        yield f"{said.text} The notice has another end"


def _shares(case: Case, said: Said, own: int | None, other: int | None) -> Iterator[str]:
    """The victim's queue has more than its quota at the level at which the two differ, in some resource.

    It may have received some of that in this cycle: it has at most what is left of it and what it loses.
    """
    if own is None or other is None or own == other:
        yield f"{said.text} Both are in one queue"
        return
    path, theirs = case.cluster.queues[own].path, case.cluster.queues[other].path
    level = next((b for a, b in zip(path, theirs, strict=False) if a != b), theirs[-1])
    status = case.decision.queues[level]
    quota = case.cluster.queues[level].facts.quota
    lost = [task for task in _lost(case) if level in _path(case, task)]
    most = [
        max(before, after + sum(case.cluster.tasks[task].shape.request_vector[r] for task in lost))
        for r, (before, after) in enumerate(zip(status.allocated_before, status.allocated_after, strict=True))
    ]
    if all(limit == UNLIMITED or has <= limit for limit, has in zip(quota, most, strict=True)):
        yield f"{said.text} Queue {case.cluster.queues[level].facts.name} is within its quota"


def _lost(case: Case) -> list[int]:
    """Tasks that are evicted in this cycle."""
    return [step.task for group in case.decision.groups for step in group.evictions]


def _path(case: Case, task: int) -> tuple[int, ...]:
    """The queue of a task, and those above."""
    queue = case.cluster.pod_groups[case.cluster.tasks[task].pod_group].queue
    return () if queue is None else case.cluster.queues[queue].path


def own_end(case: Case, said: Said) -> Iterator[str]:
    """N pods of X evicted: it ran below its minimum, or reached its time limit."""
    if not any(len(own) == number(said.text) for _, own in _own(case, said)):
        yield f"{said.text} No such decision was made"


def earlier(case: Case, said: Said) -> Iterator[str]:
    """N pods of X evicted for Y by an earlier decision: a group in flight has them."""
    found = Counter(
        (group.beneficiary, step.pod_group) for group in case.cluster.in_flight for step in group.evictions
    )
    if number(said.text) not in [n for (_, victim), n in found.items() if victim == said.about]:
        yield f"{said.text} No group in flight does that"


def not_evicted(case: Case, said: Said) -> Iterator[str]:
    """X is not evicted."""
    if _own(case, said):
        yield f"{said.text} It is"


def disrupted(case: Case, said: Said) -> Iterator[str]:
    """N pods are disrupted; M of them restart on other nodes."""
    wanted = [int(each.replace(",", "")) for each in re.findall(r"[\d,]*\d", said.text)]
    for group, _ in _own(case, said):
        moved = sum(step.relocating for step in steps_of(group))
        if wanted[0] == len(steps_of(group)):
            told = wanted[1] if len(wanted) > 1 else int("restart" in said.text)
            if told == moved:
                return
    yield f"{said.text} No decision does that"


def no_fewer(case: Case, said: Said) -> Iterator[str]:
    """No fewer are possible, or no victim can be left out: no victim of a proven set can stay."""
    if any(map(_can_be_judged, [case.cluster])):
        for problem in find_needless_victims(case.cluster, case.decision):
            yield f"{said.text} {problem}"


def _can_be_judged(cluster: Cluster) -> bool:
    """Whether counting amounts on nodes decides what fits: no shared devices, and no relations."""
    return not any(
        task.shape.gpu.is_shared
        or task.shape.constraints.depends_on_pods
        or task.shape.constraints.node_selector
        for task in cluster.tasks
    ) and not any(node.unready for node in cluster.nodes)


def fewer_suffice(case: Case, said: Said) -> Iterator[str]:
    """N pods of X would have been enough: with so many pods of it gone, the preemptor fits."""
    if "earlier decisions release enough" in said.text:
        return
    count = number(said.text.partition(" would have")[0].rpartition(", but ")[2] or said.text)
    others = tuple(case.indices(said.text))
    for group, _ in _own(case, said):
        if count < len(steps_of(group)) and _fits_without(case, group, others):
            return
    yield f"{said.text} It is not"


def _fits_without(case: Case, group: DecisionGroup, victims: tuple[int, ...]) -> bool:
    """Whether the beneficiary fits if all pods of these pod groups are gone; of any, if none is named."""
    before = case.decision.groups[: case.decision.groups.index(group)]
    cluster = case.cluster
    left = {step.task for each in before for step in steps_of(each)}
    gone = {task for victim in victims for task in cluster.pod_groups[victim].tasks}
    running = {task.index for task in cluster.tasks if task.placement.status.is_active_used}
    leaving = {t.index for t in cluster.tasks if t.placement.status is TaskStatus.RELEASING}
    changed = with_placements(cluster, dict.fromkeys((left | gone | leaving) & running, GONE))
    alone = without_pending(changed, group.beneficiary)
    return case.is_placed(alone, group.beneficiary, only_free(case))


def tried(case: Case, said: Said) -> Iterator[str]:
    """None of N smaller sets is enough: so the set was not said to be proven."""
    if not any(len(steps_of(group)) > 1 for group, _ in _own(case, said)):
        yield f"{said.text} One pod has no smaller set"


def guards(case: Case, said: Said) -> Iterator[str]:
    """Guards that allowed the eviction: no guard of the list protects all of it then."""
    names = re.findall(r"([a-z]+) \((?:no protection|minimum only|protection end)", said.text)
    for group, _ in _own(case, said):
        at = case.decision.groups.index(group)
        verdicts = case.guards.after_group(case.decision.groups[:at]).verdicts(
            group.action, group.beneficiary, said.about
        )
        if sorted(names) == sorted(each.guard for each in verdicts):
            end = group.notices.evict_time
            if all(v.protects != ALL or (v.until is not None and v.until <= end) for v in verdicts):
                return
    yield f"{said.text} Guards say something else"


def first_in_order(case: Case, said: Said) -> Iterator[str]:
    """It is first in victim order: no victim of its decision in its queue has a lower priority."""
    for group, own in _own(case, said):
        victims = {case.cluster.tasks[step.task].pod_group for step in steps_of(group)}
        mine = case.cluster.pod_groups[said.about]
        same = [case.cluster.pod_groups[each] for each in victims]
        lower = [v for v in same if v.queue == mine.queue and v.facts.priority < mine.facts.priority]
        if not lower or not own or _orders_by_cost(case):
            return
    yield f"{said.text} Others of a lower priority are victims as well"


def _orders_by_cost(case: Case) -> bool:
    return any(plugin.name == "evictioncost" for plugin in case.profile.plugins)


def precede(case: Case, said: Said) -> Iterator[str]:
    """In victim order, N precede it (names); they would, or would not, have been enough."""
    count = number(said.text.partition("order, ")[2])
    named = re.search(r"\(([^)]*)\)", said.text)
    names = [] if named is None else re.split(r", | and ", named[1])
    if len(names) != count:
        yield f"{said.text} {len(names)} are named"
        return
    others = tuple(case.named(name) for name in names)
    if said.about in others:
        yield f"{said.text} It precedes itself"
    if "would have been enough" not in said.text:
        return
    if not any(_fits_without(case, group, others) for group, _ in _own(case, said)):
        yield f"{said.text} They would not"


def next_victim(case: Case, said: Said) -> Iterator[str]:
    """Next in victim order: Y (why)."""
    other, mine = case.cluster.pod_groups[case.index(said.text)], case.cluster.pod_groups[said.about]
    if "in a later queue" in said.text and other.queue == mine.queue:
        yield f"{said.text} Both are in one queue"
    if "higher priority" in said.text and other.facts.priority <= mine.facts.priority:
        yield f"{said.text} It has none"
    if "(older)" in said.text and other.facts.creation > mine.facts.creation:
        yield f"{said.text} It is younger"


def cost(case: Case, said: Said) -> Iterator[str]:
    """Its eviction costs C, of which L are lost work: no more is lost than all that it ran for."""
    found = [_gpu_seconds(part) for part in re.findall(r"[\d.,]+ GPU \w+", said.text)]
    if len(found) == 2 and found[1] > found[0]:
        yield f"{said.text} More is lost than it costs"
    group = case.cluster.pod_groups[said.about]
    start = group.facts.last_start
    is_known = start is not None and start <= case.cluster.now  # else a loss is assumed (semantics R14.13)
    if start is not None and is_known and len(found) == 2:
        weight = sum(
            _weight(case.cluster.tasks[task].shape)
            for task in group.tasks
            if case.cluster.tasks[task].placement.status.is_active_used
        )
        ran = max(0, case.cluster.now - start) / 10**9 * weight
        if found[1] > ran * (1 + _INACCURACY) + 60:
            yield f"{said.text} All of it ran for {ran:g} GPU seconds"


def _weight(shape: TaskShape) -> float:
    """Of a pod: its devices, else its cores by 16, at least a thousandth."""
    return shape.gpu.devices or max(0.001, shape.request[CPU] / 1000 / 16)


def _gpu_seconds(text: str) -> float:
    unit = next(unit for unit in _SECONDS if unit in text)
    return amount(text) * _SECONDS[unit]


def total_cost(case: Case, said: Said) -> Iterator[str]:
    """All victims cost C: the sum of what each of them costs."""
    wanted = _gpu_seconds(said.text)
    for group, _ in _own(case, said):
        known = () if group.victim_set is None else group.victim_set.costs
        total = sum(each.price.cost for each in known) / 1000
        if known and abs(total - wanted) <= wanted * _INACCURACY + 60:
            return
    yield f"{said.text} Their costs are others"


def excess(case: Case, said: Said) -> Iterator[str]:
    """N GPUs more than requested are released: evicted pods hold so many beyond those of the placed ones."""
    told = amount(said.text)
    for group, _ in _own(case, said):
        leaving = {step.task: step.node for step in steps_of(group) if not step.relocating}
        taking = {
            step.task: step.node
            for step in (*group.reservations, *group.bindings)
            if case.cluster.tasks[step.task].pod_group == group.beneficiary
        }
        held, taken = (
            sum(_gpus_on(case.cluster, task, node) for task, node in each.items())
            for each in (leaving, taking)
        )
        if abs(held - taken - told) < _ROUNDING:
            return
    yield f"{said.text} No decision releases that"


def _gpus_on(cluster: Cluster, task: int, node: int) -> float:
    """GPUs of a pod on a node: memory of a device is a part of it."""
    gpu = cluster.tasks[task].shape.gpu
    parts = gpu.memory_mib / cluster.nodes[node].gpu_memory_mib if gpu.memory_mib else 0
    return parts * gpu.devices if parts else gpu.gpu_milli() / 1000


def next_best(case: Case, said: Said) -> Iterator[str]:
    """The next best set of victims disrupts N pods: a decision searched for victims."""
    if number(said.text) < 1 or not any(group.victim_set is not None for group, _ in _own(case, said)):
        yield f"{said.text} No set was searched for"
