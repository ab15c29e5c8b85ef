"""Reasons of waiting pod groups change no decision, and every told remedy lets its pod group run.

The test carries out each change and plays cycles until the pod group runs. Nothing ends meanwhile.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest
from tenure.solver.actions.known_failures import passing_over_known_failures
from tenure.solver.cycle import decide as decide_alone
from tenure.solver.diagnosis import what_if
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.remedies import Remedy, RemedyKind, find_remedies
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.what_if import HELPFUL_OUTCOMES
from tenure.solver.diagnosis.what_if import with_larger_bounds as with_bounds
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

PROFILE: Final = default_profile()
CLUSTERS: Final = 150
CYCLES: Final = 12
MINUTE: Final = 60 * SECOND
CHANGES: Final = {kind.name for kind in RemedyKind} - {"WAIT"}


def test_checks_for_reasons_change_no_decision_r13_40() -> None:
    for seed in range(CLUSTERS):
        cluster = random_cluster(SeededDraw(seed))
        plain = decide_alone(cluster, passing_over_known_failures(PROFILE)).close()
        told = answer(cluster, PROFILE)
        for kind in ("bindings", "evictions", "reservations"):
            found = [[getattr(group, kind) for group in each.groups] for each in (plain, told)]
            assert found[0] == found[1], (seed, kind)


def with_remedy(cluster: Cluster, pod_group: int, remedy: Remedy) -> Cluster:
    """The cluster once somebody did what the remedy says."""
    match remedy.kind:
        case RemedyKind.REDUCE_MINIMUM:
            return what_if.with_minimum(cluster, pod_group, remedy.number)
        case RemedyKind.RAISE_PRIORITY:
            return what_if.with_facts(cluster, pod_group, priority=remedy.number)
        case RemedyKind.MAKE_PREEMPTIBLE:
            free = {"preemptibility": Preemptibility.PREEMPTIBLE, "opt_out_actions": frozenset[str]()}
            return what_if.with_facts(cluster, pod_group, **free)
        case RemedyKind.RAISE_QUOTA:
            return with_bounds(cluster, "quota", remedy.queues, remedy.resource, remedy.number)
        case RemedyKind.RAISE_LIMIT:
            return with_bounds(cluster, "limit", remedy.queues, remedy.resource, remedy.number)
        case RemedyKind.ADD_NODES:
            return what_if.with_nodes(cluster, remedy.node, remedy.number)
        case RemedyKind.WAIT:
            raise AssertionError


def bound_pods(cluster: Cluster, pod_group: int) -> int:
    """Pods of the pod group on nodes."""
    tasks = cluster.tasks
    return sum(tasks[task].placement.is_allocated for task in cluster.pod_groups[pod_group].tasks)


def found_remedies(cluster: Cluster) -> Iterator[tuple[int, Remedy]]:
    """Pod groups that wait, with each change that is told."""
    for outcome in answer(cluster, PROFILE).outcomes:
        if outcome.kind not in HELPFUL_OUTCOMES:
            found = find_remedies(CycleReplay(cluster, PROFILE), outcome.pod_group)
            changes = [each for each in found.remedies if each.kind is not RemedyKind.WAIT]
            yield from ((outcome.pod_group, each) for each in changes)


def does_run(cluster: Cluster, pod_group: int) -> bool:
    """Whether cycles bind more of its pods than it has."""
    before = bound_pods(cluster, pod_group)
    for _ in range(CYCLES):
        cluster = apply_decisions(cluster, answer(cluster, PROFILE), MINUTE)
        if bound_pods(cluster, pod_group) > before:
            return True
    return False


def judge(seeds: range) -> Counter[str]:
    """How often each kind of remedy was told on random clusters; all of them were carried out."""
    told = Counter[str]()
    for seed in seeds:
        cluster = random_cluster(SeededDraw(seed))
        for pod_group, remedy in found_remedies(cluster):
            changed = with_remedy(cluster, pod_group, remedy)
            assert does_run(changed, pod_group), (seed, cluster.pod_groups[pod_group].facts.name, remedy)
            told[remedy.kind.name] += 1
    return told


def test_every_told_remedy_makes_it_run() -> None:
    assert set(judge(range(44, 54))) >= {"MAKE_PREEMPTIBLE", "RAISE_QUOTA", "ADD_NODES"}


@pytest.mark.long
def test_every_told_remedy_makes_it_run_on_many_clusters() -> None:
    assert set(judge(range(100))) == CHANGES
