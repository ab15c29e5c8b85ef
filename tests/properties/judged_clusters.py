"""The check `judged-clusters`: decisions on random clusters with random profiles and clocks, judged.

What judges them (`tests.properties.checks`) shares nothing with guards, ledger and search. A third of the
clusters have pods with all relations to each other, and are played on (`relations.played_clusters`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

import typer
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.terms.reasons import ReasonCode

from tests.checks import Counts
from tests.properties.checks.budget_checks import find_exceeded_budgets, find_hasty_evictions
from tests.properties.checks.constraint_checks import find_broken_constraints
from tests.properties.checks.decision_checks import (
    find_needless_evictions,
    find_overcommitments,
    find_partial_gangs,
    find_uncovered_reservations,
)
from tests.properties.checks.guard_checks import (
    find_contradicted_protections,
    find_protected_evictions,
    find_wrong_guard_verdicts,
    guarded_losses,
)
from tests.properties.checks.guard_facts import GuardFacts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.contested_clusters import CLOCKS, contested_cluster
from tests.properties.generators.disruption_budgets import PACING, random_pacing, with_disruption_budgets
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile, with_costs
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.relations.played_clusters import judge as judge_relations

BATCH: Final = 50
RELATED: Final = 2
_OF_DECISIONS: Final[Sequence[Callable[[Cluster, CycleResult], Iterator[object]]]] = (
    find_overcommitments,
    find_uncovered_reservations,
    find_partial_gangs,
    find_needless_evictions,
    find_broken_constraints,
)
_OF_GUARDS: Final[Sequence[Callable[[GuardFacts, CycleResult], Iterator[object]]]] = (
    find_protected_evictions,
    find_wrong_guard_verdicts,
    find_contradicted_protections,
)


def judge(seed: int, alternatives: int = 0) -> Counter[str]:
    """Decide on the cluster of a seed. Violations are counted by their text.

    The pods of two of five clusters have disruption budgets, two of seven profiles have eviction rates, and
    one of six orders victims by cost and compares sets of them. With `alternatives`, all profiles compare so
    many sets, and no cluster is played on.
    """
    if seed % 3 == RELATED and not alternatives:
        return judge_relations(seed)
    draw = SeededDraw(seed)
    if seed % 3:
        cluster = contested_cluster(draw)
    else:
        cluster = random_cluster(draw, SeededDraw(-seed) if seed % 2 else None)
        cluster = replace(cluster, now=cluster.now + draw.choice(CLOCKS))
    if seed % 5 < 2:
        cluster = with_disruption_budgets(SeededDraw(~seed), cluster)
    profile = random_profile(draw)
    if seed % 7 < 2:
        cluster, pacing = random_pacing(SeededDraw(-7 - seed), cluster)
        values = {name: getattr(pacing, name) for name in PACING}
        profile = replace(profile, options=replace(profile.options, **values))
    if seed % 6 == 5:
        profile = with_costs(profile, SeededDraw(seed))
    if alternatives:
        profile = replace(profile, options=replace(profile.options, victim_alternatives=alternatives))
    decision, facts = answer(cluster, profile), GuardFacts.for_pair(cluster, profile)
    problems = [problem for check in _OF_DECISIONS for problem in check(cluster, decision)]
    problems += find_exceeded_budgets(cluster, decision, profile.options)
    problems += find_hasty_evictions(cluster, decision, profile.options)
    problems += [problem for check in _OF_GUARDS for problem in check(facts, decision)]
    found = Counter({"clusters": 1, "decision groups": len(decision.groups), "wrong": bool(problems)})
    bound = (cluster.tasks[step.task] for group in decision.groups for step in group.bindings)
    found["bindings with constraints on other pods"] = sum(
        1 for task in bound if task.shape.constraints.depends_on_pods
    )
    found["scenarios trimmed to disruption budgets"] = decision.counters.trimmed
    found["pod groups that wait for a disruption budget"] = sum(
        1 for each in decision.outcomes if each.reason.code is ReasonCode.DISRUPTION_BUDGET
    )
    found["pod groups that wait for an eviction rate"] = sum(
        1 for each in decision.outcomes if each.reason.code is ReasonCode.EVICTION_RATE
    )
    found["losses of pod groups"] = sum(1 for _ in guarded_losses(cluster, decision))
    found["protections"] = len(decision.protections)
    found.update(f"seed {seed}: {problem}" for problem in problems)
    return found


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 100_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
    alternatives: Annotated[
        int, typer.Option(min=0, help="Compare so many sets of victims everywhere; 0: as each profile says")
    ] = 0,
) -> Counts:
    """Judge decisions: protected losses, nodes over capacity, partial gangs, broken constraints, budgets."""
    judged = partial(judge, alternatives=alternatives)
    return report(count_all(judged, range(first, first + count), count, BATCH, "deciding"), count)
