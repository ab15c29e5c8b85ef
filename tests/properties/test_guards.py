"""Guards on random contested clusters with random facts, clocks and profiles.

Every cycle result is compared with `guard_facts`, which computes verdicts from the snapshot independently.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.testing import apply_decisions
from tenure.terms.durations import SECOND

from tests.properties.checks.guard_checks import (
    Loss,
    find_contradicted_protections,
    find_misreported_protections,
    find_protected_evictions,
    find_wrong_guard_verdicts,
    guarded_losses,
)
from tests.properties.checks.guard_facts import GUARDS, MINIMUM, GuardFacts
from tests.properties.generators.contested_clusters import ACTIONS, contested_cluster
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile, without_optional_guards

EXAMPLES: Final = 750
LEAST: Final = {"reclaim": 40, "preempt": 40, "requeue": 12, "consolidation": 9}
"""Least number of pod groups that lose pods in the examples, by action."""
LEAST_SURPLUS: Final = 10
"""Least number of losses of surplus by pod groups whose minimum is protected."""
LEAST_BREACHES: Final = 12
"""Least number of evictions that each guard forbids when decisions are made without guards."""
MOST_CYCLES: Final = 6
YEAR: Final = 365 * 24 * 3600 * SECOND


class GuardExample(NamedTuple):
    """A cycle result, and the facts that its guards are checked against."""

    seed: int
    profile: Profile
    sheet: GuardFacts
    decision: CycleResult


@cache
def examples() -> tuple[GuardExample, ...]:
    return tuple(_example(seed) for seed in range(EXAMPLES))


def _example(seed: int) -> GuardExample:
    draw = SeededDraw(seed)
    cluster, profile = contested_cluster(draw), random_profile(draw)
    return GuardExample(seed, profile, GuardFacts.for_pair(cluster, profile), answer(cluster, profile))


def find_problems(check: Callable[[GuardFacts, CycleResult], Iterator[object]]) -> list[tuple[int, object]]:
    """Violations that a check finds, with the seed of the example."""
    return [(seed, wrong) for seed, _, sheet, decision in examples() for wrong in check(sheet, decision)]


def test_no_action_evicts_protected_pods() -> None:
    assert find_problems(find_protected_evictions) == []


def test_every_eviction_names_the_effective_guards_in_profile_order() -> None:
    assert find_problems(find_wrong_guard_verdicts) == []


def test_no_eviction_contradicts_a_protection_of_the_same_response() -> None:
    assert find_problems(find_contradicted_protections) == []


def test_protections_report_scope_preemptor_action_and_end_correctly() -> None:
    assert find_problems(find_misreported_protections) == []


def test_no_new_decision_before_the_next_wake_time() -> None:
    """If there is nothing to apply, no decision follows before `next_wake_time`, or ever if it is unset.

    Outcomes do not change either, unless a protection begins in between, which can only reduce what is
    possible.
    """
    changed, restless, woken = [], [], 0
    for seed, profile, sheet, decision in examples():
        cluster, resting = _apply_decisions(sheet.cluster, profile, decision)
        if _steps(resting):
            restless.append(seed)
            continue
        woken += resting.next_wake_time is not None
        later = cluster.now + YEAR if resting.next_wake_time is None else resting.next_wake_time - 1
        again = answer(replace(cluster, now=later), profile)
        is_equal = GuardFacts.for_pair(cluster, profile).begins_before(later) or _outcome_kinds(
            again
        ) == _outcome_kinds(resting)
        if later < cluster.now or _steps(again) or not is_equal:
            changed.append(seed)
    assert changed == []
    assert woken > EXAMPLES // 2
    assert len(restless) < EXAMPLES // 100, restless


def _apply_decisions(
    cluster: Cluster, profile: Profile, decision: CycleResult
) -> tuple[Cluster, CycleResult]:
    """The cluster after all decisions are applied, and the last result, which has no decisions."""
    for _ in range(MOST_CYCLES):
        if not _steps(decision):
            break
        cluster = apply_decisions(cluster, decision, SECOND)
        decision = answer(cluster, profile)
    return cluster, decision


def _steps(decision: CycleResult) -> list[Any]:
    return [step for g in decision.groups for step in (*g.evictions, *g.reservations, *g.bindings)]


def _outcome_kinds(decision: CycleResult) -> tuple[list[Any], list[Any]]:
    """Kinds of outcomes and results of nominations, without texts and times."""
    outcomes = [(outcome.pod_group, outcome.kind) for outcome in decision.outcomes]
    return outcomes, [(nomination.pod_group, nomination.result) for nomination in decision.nominations]


def test_examples_contain_enough_evictions_of_surplus() -> None:
    """Without enough evictions the tests above could not fail."""
    taken = [(sheet, loss) for _, _, sheet, d in examples() for loss in guarded_losses(sheet.cluster, d)]
    by_action = Counter(loss.group.action for _, loss in taken)
    assert [action for action in ACTIONS if by_action[action] < LEAST[action]] == [], by_action
    surplus = [loss for sheet, loss in taken if _preserves_minimum(sheet, loss)]
    assert len(surplus) >= LEAST_SURPLUS


def _preserves_minimum(sheet: GuardFacts, loss: Loss) -> bool:
    verdicts = sheet.verdicts(loss.group.action, loss.group.beneficiary, loss.victim.index)
    return any(verdict.protects == MINIMUM for verdict in verdicts)


def test_every_guard_is_violated_when_guards_are_removed() -> None:
    """Without guards, decisions on these examples violate every guard."""
    broken: Counter[str] = Counter()
    for _, profile, sheet, _ in examples():
        unguarded = answer(_without_protection(sheet.cluster), without_optional_guards(profile))
        broken.update(breach.guard for breach in find_protected_evictions(sheet, unguarded))
    assert [guard for guard in GUARDS if broken[guard] < LEAST_BREACHES] == [], broken


def _without_protection(cluster: Cluster) -> Cluster:
    """The cluster without preemptibility protection: any action can evict any pod group."""
    groups = (
        replace(
            group,
            facts=replace(
                group.facts, preemptibility=Preemptibility.PREEMPTIBLE, opt_out_actions=frozenset()
            ),
        )
        for group in cluster.pod_groups
    )
    return replace(cluster, pod_groups=PersistentVector(groups))
