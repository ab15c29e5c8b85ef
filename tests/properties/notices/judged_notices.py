"""The check `notices`: who is evicted was told in time (P16.1, P16.2, P16.3), on random sequences of cycles.

The judge keeps a book of what pods were told. It knows the rules of guards by `guard_facts`, and nothing of
the solver.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final

import typer
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, DecisionGroup, InFlightGroupState
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.testing import apply_decisions
from tenure.terms.durations import SECOND

from tests.checks import Counts
from tests.properties.checks.guard_facts import ALL, GuardFacts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.disruption_budgets import PACING, random_pacing, with_disruption_budgets
from tests.properties.generators.draw import Draw, SeededDraw
from tests.properties.generators.guard_profiles import random_profile
from tests.properties.notices.announced_limits import find_exceeded_limits

BATCH: Final = 10
CYCLES: Final = 8
MINUTE: Final = 60 * SECOND
NOTICES: Final = (None, 0, SECOND, MINUTE, MINUTE, 2 * MINUTE, 3 * 60 * MINUTE)
STEPS: Final = (1, SECOND, 30 * SECOND, MINUTE, MINUTE, 2 * MINUTE, 5 * MINUTE)
LONGEST: Final = 60 * MINUTE


class NoticeBook:
    """When pods were told of their evictions, and what contradicts it."""

    def __init__(self) -> None:
        self._told: dict[int, int] = {}
        """When each pod was told that has an open notice."""
        self._ends: dict[int, int] = {}
        """When it is to be evicted, by what it was told."""

    def judge(self, cluster: Cluster, decision: CycleResult, profile: Profile) -> Iterator[str]:
        """Violations of one cycle."""
        now, facts = cluster.now, GuardFacts.for_pair(cluster, profile)
        open_before = set(self._told)
        ended = [each for each in decision.in_flight if each.state is not InFlightGroupState.IN_FLIGHT]
        left = {step.task for each in ended for step in cluster.in_flight[each.group].notices}
        for group in decision.groups:
            for task in group.notices.withdrawn:
                if self._told.pop(task, None) is None:
                    yield "a notice is withdrawn that was not given"
            are_ready = all(_is_ready(cluster, step.task) for step in group.evictions)
            for step in group.evictions:
                told, least = self._told.pop(step.task, None), _notice(cluster, step.task)
                if group.action == "stalegangeviction":
                    continue
                if least and told is None:
                    yield f"{group.action} evicts a pod without notice"
                if told is not None and now < max(told + least, self._ends[step.task]) and not are_ready:
                    yield f"{group.action} evicts a pod too early after its notice"
                if told is not None:
                    yield from self._spared(cluster, facts, group.action, group.beneficiary, step.task)
        for group in decision.groups:
            for step in group.notices.evictions:
                if step.task in open_before and step.task not in left:
                    yield "a pod is told twice"
                if group.notices.evict_time < now + _notice(cluster, step.task):
                    yield "a notice is shorter than its pod group wants"
                self._told[step.task] = now
                self._ends[step.task] = group.notices.evict_time
        running = {task.index for task in cluster.tasks if task.placement.is_allocated}
        for task in open_before & left & self._told.keys():
            if task in running and self._told[task] != now:
                yield "a group with notices ends, and its pod hears nothing"
        self._told = {task: told for task, told in self._told.items() if task in running}

    def early(self, cluster: Cluster, group: DecisionGroup) -> int:
        """How many pods a group evicts before the time that they were told."""
        return sum(cluster.now < self._ends.get(step.task, 0) for step in group.evictions)

    def _spared(
        self, cluster: Cluster, facts: GuardFacts, action: str, preemptor: int, task: int
    ) -> Iterator[str]:
        """Guards that protect a pod that was told, at the time of its eviction."""
        victim = cluster.tasks[task].pod_group
        for fact in facts.verdicts(action, preemptor, victim):
            if fact.protects == ALL:
                yield f"{action} evicts a pod that {fact.guard} protects when it is evicted"


def _notice(cluster: Cluster, task: int) -> int:
    """Notice of the pod group of a pod, by hand: its own, else that of the nearest queue."""
    group = cluster.pod_groups[cluster.tasks[task].pod_group]
    found, index = group.facts.victim.notice, group.queue
    while found is None and index is not None:
        found, index = cluster.queues[index].facts.notice, cluster.queues[index].parent
    return min(found or 0, LONGEST)


def _is_ready(cluster: Cluster, task: int) -> bool:
    """Whether a pod group wrote a checkpoint between its notice and now, and promised that it would."""
    said = cluster.pod_groups[cluster.tasks[task].pod_group].facts.victim
    if not said.checkpoint_on_notice or said.last_notice is None or said.last_checkpoint is None:
        return False
    return said.last_notice <= said.last_checkpoint <= cluster.now


def noticed_cluster(draw: Draw) -> Cluster:
    """A contested cluster with notices of pod groups and queues."""
    cluster = contested_cluster(draw)
    groups = cluster.pod_groups.next_version()
    for group in list(cluster.pod_groups):
        groups.put(group.index, _with_notice(group, draw.choice(NOTICES), saves=draw.chance(50)))
    queues = tuple(_queue_with_notice(each, draw.choice((None, None, MINUTE))) for each in cluster.queues)
    return replace(cluster, pod_groups=groups, queues=queues)


def _queue_with_notice(queue: Queue, notice: int | None) -> Queue:
    return replace(queue, facts=replace(queue.facts, notice=notice))


def _with_notice(group: PodGroup, notice: int | None, *, saves: bool = False) -> PodGroup:
    victim = replace(group.facts.victim, notice=notice, checkpoint_on_notice=saves)
    return replace(group, facts=replace(group.facts, victim=victim))


def _disturb(draw: Draw, cluster: Cluster) -> Cluster:
    """Let a pod end, or a pod group opt out, or budgets close, or pod groups save their work, or nothing."""
    if draw.chance(15):
        running = [task.index for task in cluster.tasks if task.placement.is_allocated]
        if running:
            tasks, index = cluster.tasks.next_version(), draw.choice(running)
            tasks.put(index, replace(cluster.tasks[index], placement=Placement(TaskStatus.SUCCEEDED)))
            return replace(cluster, tasks=tasks)
    if cluster.disruption_budgets and draw.chance(25):
        closed = tuple([each._replace(allowed=draw.choice((0, 0, 1))) for each in cluster.disruption_budgets])
        return replace(cluster, disruption_budgets=closed)
    if draw.chance(10):
        groups, index = cluster.pod_groups.next_version(), draw.integer(0, len(cluster.pod_groups) - 1)
        opted = frozenset(("preempt", "reclaim", "consolidation", "requeue"))
        group = cluster.pod_groups[index]
        groups.put(index, replace(group, facts=replace(group.facts, opt_out_actions=opted)))
        return replace(cluster, pod_groups=groups)
    if draw.chance(40):
        groups = cluster.pod_groups.next_version()
        for group in [each for each in cluster.pod_groups if draw.chance(80)]:
            saved = cluster.now + draw.choice((0, 0, 0, -MINUTE, 1))
            victim = replace(group.facts.victim, last_checkpoint=saved)
            groups.put(group.index, replace(group, facts=replace(group.facts, victim=victim)))
        return replace(cluster, pod_groups=groups)
    return cluster


def judge(seed: int) -> Counter[str]:
    """Decide a sequence of cycles. Violations are counted by their text."""
    draw = SeededDraw(seed)
    cluster, base = noticed_cluster(draw), random_profile(draw)
    if seed % 2:
        cluster, base = _with_limits(SeededDraw(~seed), cluster, base)
    profile = replace(base, options=replace(base.options, max_notice=LONGEST))
    found, book = Counter({"clusters": 1}), NoticeBook()
    silent = answer(cluster, base)
    plain = answer(_without_notices(cluster), base)
    if (silent.groups, silent.outcomes) != (plain.groups, plain.outcomes):
        found[f"seed {seed}: notices change decisions although they are off"] += 1
    for _ in range(CYCLES):
        decision = answer(cluster, profile)
        for group in decision.groups:
            found["pods told"] += len(group.notices.evictions)
            found["notices withdrawn"] += len(group.notices.withdrawn)
            found["evictions after notice"] += len(group.evictions) if group.fulfills_group else 0
            found["early evictions"] += book.early(cluster, group)
        limited = find_exceeded_limits(cluster, decision, profile.options)
        for text in (*book.judge(cluster, decision, profile), *limited):
            found[f"seed {seed}: {text}"] += 1
        cluster = _disturb(draw, apply_decisions(cluster, decision, draw.choice(STEPS)))
    found["wrong"] = int(any(text.startswith("seed") for text in found))
    return found


def _with_limits(draw: Draw, cluster: Cluster, base: Profile) -> tuple[Cluster, Profile]:
    """Options with disruption budgets, rates and limits of a cycle."""
    limited, pacing = random_pacing(draw, with_disruption_budgets(draw, cluster))
    values = {name: getattr(pacing, name) for name in PACING}
    return limited, replace(base, options=replace(base.options, **values))


def _without_notices(cluster: Cluster) -> Cluster:
    groups = cluster.pod_groups.next_version()
    for group in list(cluster.pod_groups):
        groups.put(group.index, _with_notice(group, None))
    queues = tuple(_queue_with_notice(queue, None) for queue in cluster.queues)
    return replace(cluster, pod_groups=groups, queues=queues)


def main(
    sequences: Annotated[int, typer.Option(help="Number of random sequences.")] = 1_000,
    first: Annotated[int, typer.Option(help="First seed.")] = 0,
) -> Counts:
    """Judge the notices of many sequences of cycles."""
    seeds = range(first, first + sequences)
    return report(count_all(judge, seeds, sequences, BATCH, "Judging notices"), sequences)
