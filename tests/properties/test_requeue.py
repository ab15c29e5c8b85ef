"""Requeue on random clusters: the smallest set makes way, whatever queues are called, and never in vain.

What suffices is computed here from the numbers of GPUs, without the solver.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import NominationResult
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import apply_decisions
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.requeue_clusters import CONTENDER, RequeueCase, Running, requeue_case

CASES: Final = 240
CYCLES: Final = 6
MINUTE: Final = 60 * SECOND
ALONE: Final = replace(default_profile(), actions=("allocate", "requeue"))
"""Nothing else frees room."""


class Example(NamedTuple):
    """A case, its cluster and the result of a cycle."""

    seed: int
    case: RequeueCase
    cluster: Cluster
    decision: CycleResult


@cache
def examples(quotas: bool) -> tuple[Example, ...]:
    found = []
    for seed in range(CASES):
        case = requeue_case(SeededDraw(seed), quotas=quotas)
        cluster = case.build()
        found.append(Example(seed, case, cluster, answer(cluster, ALONE)))
    return tuple(found)


def requeued(cluster: Cluster, decision: CycleResult) -> set[str]:
    """Names of the pod groups that are requeued."""
    return {
        cluster.pod_groups[nomination.pod_group].facts.name
        for nomination in decision.nominations
        if nomination.result is NominationResult.REQUEUED
    }


def candidates(case: RequeueCase) -> list[Running]:
    """Pod groups that may be requeued: the lowest priority, then the longest overrun, then the uid."""
    late = [group for group in case.running if group.overrun_minutes]
    return sorted(late, key=lambda group: (group.priority, -group.overrun_minutes, group.name))


def suffices(case: RequeueCase, leaving: tuple[Running, ...]) -> bool:
    """Whether the contender fits if these pod groups leave."""
    free = list(case.nodes)
    for group in case.running:
        for node in group.nodes if group not in leaving else ():
            free[node] -= group.gpus
    return sum(left // case.gpus for left in free) >= case.pods


def expected(case: RequeueCase) -> set[str]:
    """The first of the smallest sets that suffice."""
    late = candidates(case)
    for size in range(len(late) + 1):
        for leaving in combinations(late, size):
            if suffices(case, leaving):
                return {group.name for group in leaving}
    return set()


def test_smallest_set_of_overdue_pod_groups_makes_way() -> None:
    """Without quotas every queue is entitled to all capacity, so that only room decides."""
    wrong = [
        (seed, expected(case), requeued(cluster, decision))
        for seed, case, cluster, decision in examples(quotas=False)
        if requeued(cluster, decision) != expected(case)
    ]
    assert wrong == []
    sizes = [len(requeued(each.cluster, each.decision)) for each in examples(quotas=False)]
    assert sizes.count(1) > CASES // 10
    assert sum(size > 1 for size in sizes) > CASES // 10


def test_only_requeued_pod_groups_lose_pods_and_each_has_one_decision() -> None:
    for quotas in (False, True):
        for _, _, cluster, decision in examples(quotas):
            for group in decision.groups:
                losing = {cluster.tasks[step.task].pod_group for step in group.evictions}
                assert sorted(losing) == sorted(step.pod_group for step in group.requeues)


def test_speedups_change_no_requeue() -> None:
    """Queues with and without quotas; the plain search simulates what fit checks rule out."""
    plain = replace(ALONE, options=CycleOptions(speedups=()))
    wrong = [
        (quotas, seed)
        for quotas in (False, True)
        for seed, _, cluster, decision in examples(quotas)
        if answer(cluster, plain).groups != decision.groups
    ]
    assert wrong == []


def names_of(case: RequeueCase, turn: int) -> list[str]:
    return [f"{(number * 7 + turn * 5) % 11:02}-{number}" for number in range(len(case.quotas))]


def renamed(case: RequeueCase, turn: int) -> Cluster:
    """Copy of a cluster: its queues have other names and ages, in another order."""
    count = len(case.quotas)
    ages = [(number + turn) % count * (1 if turn % 2 else -1) + count for number in range(count)]
    return case.build(names_of(case, turn), ages)


def fair_shares(case: RequeueCase, cluster: Cluster, decision: CycleResult, turn: int | None) -> list[object]:
    """Fair shares in the order of the case."""
    shares = {cluster.queues[status.queue].facts.name: status.fair_share for status in decision.queues}
    order = "abcdef"[: len(case.quotas)] if turn is None else names_of(case, turn)
    return [shares[name] for name in order]


@pytest.mark.long
def test_names_and_ages_of_queues_do_not_decide() -> None:
    """Except by the rounding of fair shares: of queues that are owed half a GPU each, the oldest has it."""
    wrong, compared = [], 0
    for quotas in (False, True):
        for seed, case, cluster, decision in examples(quotas):
            for turn in range(1, 4):
                other = renamed(case, turn)
                found = answer(other, ALONE)
                if fair_shares(case, other, found, turn) != fair_shares(case, cluster, decision, None):
                    continue
                compared += 1
                if requeued(other, found) != requeued(cluster, decision):
                    wrong.append((seed, turn, requeued(cluster, decision), requeued(other, found)))
    assert wrong == []
    assert compared > 4 * CASES


def played(cluster: Cluster) -> Iterator[tuple[Cluster, CycleResult]]:
    """A cycle every two minutes, with all actions, until guards of the pair have expired."""
    for _ in range(CYCLES):
        decision = answer(cluster, default_profile())
        yield cluster, decision
        cluster = apply_decisions(cluster, decision, 2 * MINUTE)


@pytest.mark.long
def test_nothing_is_requeued_in_vain() -> None:
    """The contender starts, and keeps its room: what was requeued for it does not return at its cost."""
    wrong, count = [], 0
    for quotas in (False, True):
        for seed, case, cluster, _ in examples(quotas):
            for turn in (None, 1) if quotas else (None,):
                start = cluster if turn is None else renamed(case, turn)
                if not requeued(start, answer(start, default_profile())):
                    continue
                steps = list(played(start))
                made_way = set().union(*(requeued(*step) for step in steps))
                count += 1
                last = steps[-1][0]
                (contender,) = (g for g in last.pod_groups if g.facts.name == CONTENDER)
                runs = all(last.tasks[t].placement.status is TaskStatus.RUNNING for t in contender.tasks)
                taken = [
                    group.action
                    for at, decision in steps
                    for group in decision.groups
                    for step in group.evictions
                    if at.tasks[step.task].pod_group == contender.index
                ]
                if not runs or taken:
                    wrong.append((seed, turn, made_way, runs, taken))
    assert wrong == []
    assert count > CASES // 3
