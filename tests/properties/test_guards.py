"""What guards promise, on random contested clusters with random facts, clocks and profiles.

Every decision is judged by `guardfacts`, which reads the snapshot on its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Profile
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.column import Column
from tenure.solver.model.decision import Decision
from tenure.solver.model.duration import SECOND
from tenure.solver.model.workload import Preemptibility
from tenure.solver.testing import next_cluster

from tests.properties.contested import ACTIONS, contested_cluster
from tests.properties.draw import SeededDraw
from tests.properties.guardchecks import (
    Loss,
    broken_guards,
    contradicted_protections,
    losses,
    misnamed_checks,
    misreported_protections,
)
from tests.properties.guardfacts import GUARDS, MINIMUM, FactSheet
from tests.properties.guardprofiles import random_profile, without_guards

EXAMPLES: Final = 1500
LEAST: Final = {"reclaim": 80, "preempt": 80, "requeue": 25, "consolidation": 18}
"""Losses of pod groups among the examples, by action."""
LEAST_SURPLUS: Final = 20
"""Losses of pod groups that must keep their minimum, and do."""
LEAST_BREACHES: Final = 25
"""Evictions that each guard would have forbidden, where there is none."""
MOST_CYCLES: Final = 6
YEAR: Final = 365 * 24 * 3600 * SECOND


class Example(NamedTuple):
    """A decision, and what the guards must say."""

    seed: int
    profile: Profile
    sheet: FactSheet
    decision: Decision


@cache
def examples() -> tuple[Example, ...]:
    return tuple(_example(seed) for seed in range(EXAMPLES))


def _example(seed: int) -> Example:
    draw = SeededDraw(seed)
    cluster, profile = contested_cluster(draw), random_profile(draw)
    return Example(seed, profile, FactSheet.of(cluster, profile), decide(cluster, profile))


def found(check: Callable[[FactSheet, Decision], Iterator[object]]) -> list[tuple[int, object]]:
    """What a check finds wrong, with the seed of the example."""
    return [(seed, wrong) for seed, _, sheet, decision in examples() for wrong in check(sheet, decision)]


def test_no_action_takes_what_a_guard_protects() -> None:
    assert found(broken_guards) == []


def test_every_eviction_names_the_guards_that_have_a_say_in_the_order_of_the_profile() -> None:
    assert found(misnamed_checks) == []


def test_no_eviction_contradicts_a_protection_of_the_same_answer() -> None:
    assert found(contradicted_protections) == []


def test_protections_tell_who_may_take_what_from_whom_and_until_when() -> None:
    assert found(misreported_protections) == []


def test_until_the_wake_time_nothing_happens_by_itself() -> None:
    """Of clusters with nothing to carry out: until `next_wake`, for ever if it is unset, no step comes up.

    Nor does any verdict change, except that less is possible once a protection begins.
    """
    changed, restless, woken = [], [], 0
    for seed, profile, sheet, decision in examples():
        cluster, resting = _at_rest(sheet.cluster, profile, decision)
        if _steps(resting):
            restless.append(seed)
            continue
        woken += resting.next_wake is not None
        later = cluster.now + YEAR if resting.next_wake is None else resting.next_wake - 1
        again = decide(replace(cluster, now=later), profile)
        is_equal = FactSheet.of(cluster, profile).begins_before(later) or _kinds(again) == _kinds(resting)
        if later < cluster.now or _steps(again) or not is_equal:
            changed.append(seed)
    assert changed == []
    assert woken > EXAMPLES // 2
    assert len(restless) < EXAMPLES // 100, restless


def _at_rest(cluster: Cluster, profile: Profile, decision: Decision) -> tuple[Cluster, Decision]:
    """The cluster once all decisions are carried out, and the decision to leave it as it is."""
    for _ in range(MOST_CYCLES):
        if not _steps(decision):
            break
        cluster = next_cluster(cluster, decision, SECOND)
        decision = decide(cluster, profile)
    return cluster, decision


def _steps(decision: Decision) -> list[Any]:
    return [step for g in decision.groups for step in (*g.evictions, *g.holds, *g.bindings)]


def _kinds(decision: Decision) -> tuple[list[Any], list[Any]]:
    """What became of whom, without the words and times."""
    outcomes = [(outcome.pod_group, outcome.kind) for outcome in decision.outcomes]
    return outcomes, [(nomination.pod_group, nomination.result) for nomination in decision.nominations]


def test_enough_is_evicted_beside_what_is_protected() -> None:
    """Else the tests above could not fail."""
    taken = [(sheet, loss) for _, _, sheet, d in examples() for loss in losses(sheet.cluster, d)]
    by_action = Counter(loss.group.action for _, loss in taken)
    assert [action for action in ACTIONS if by_action[action] < LEAST[action]] == [], by_action
    surplus = [loss for sheet, loss in taken if _keeps_minimum(sheet, loss)]
    assert len(surplus) >= LEAST_SURPLUS


def _keeps_minimum(sheet: FactSheet, loss: Loss) -> bool:
    asked = sheet.verdicts(loss.group.action, loss.group.beneficiary, loss.victim.index)
    return any(said.protects == MINIMUM for said in asked)


def test_the_same_clusters_without_guards_break_every_one_of_them() -> None:
    """Each guard is what stands between these examples and evictions that it forbids."""
    broken: Counter[str] = Counter()
    for _, profile, sheet, _ in examples():
        unguarded = decide(_defenceless(sheet.cluster), without_guards(profile))
        broken.update(breach.guard for breach in broken_guards(sheet, unguarded))
    assert [guard for guard in GUARDS if broken[guard] < LEAST_BREACHES] == [], broken


def _defenceless(cluster: Cluster) -> Cluster:
    """Everybody may be interrupted by everything."""
    groups = (
        replace(group, preemptibility=Preemptibility.PREEMPTIBLE, opt_outs=frozenset())
        for group in cluster.pod_groups
    )
    return replace(cluster, pod_groups=Column(groups))
