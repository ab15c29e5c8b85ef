"""The check `differential`: compare decisions with and without speedups on many random clusters."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing import Pool
from typing import Annotated, Final

import typer
from rich.progress import track
from tenure.solver.cycle import decide
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.terms.reasons import ReasonCode

from tests.checks import Counts
from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.disruption_budgets import random_pacing, with_disruption_budgets
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.standing_reservations import with_reservations

PROCESSES: Final = 2
BATCH: Final = 20
_COSTS: Final = PluginConfig("evictioncost", {"priorityBand": "50"})


def compare(seed: int) -> Counter[str]:
    """Compare the decisions on the cluster of a seed: all speedups, none, and all but one.

    The seed selects the disabled speedup. `different` counts clusters with any difference. Every fourth
    cluster has constraints on other pods, two of five have disruption budgets, one of five is nearly full.
    One of five is decided with costs of evictions, one of eleven with reservations.
    """
    beside = SeededDraw(-seed) if seed % 4 == 3 else None
    cluster = (
        contested_cluster(SeededDraw(seed)) if seed % 5 == 1 else random_cluster(SeededDraw(seed), beside)
    )
    if seed % 5 < 2:
        cluster = with_disruption_budgets(SeededDraw(~seed), cluster)
    options = CycleOptions()
    if seed % 7 < 2:
        cluster, options = random_pacing(SeededDraw(-7 - seed), cluster)
    off = SPEEDUPS[seed % len(SPEEDUPS)]
    has_costs = seed % 10 in (4, 6)
    profile = _profile(options, has_costs)
    if seed % 11 == 5:
        cluster, profile = with_reservations(SeededDraw(-11 - seed), cluster, profile)
    some = tuple(name for name in SPEEDUPS if name != off)
    fast, plain, partly = (decide_with(cluster, names, profile) for names in (SPEEDUPS, (), some))
    found = Counter(
        {
            "clusters": 1,
            "with constraints on other pods": beside is not None,
            "with disruption budgets": bool(cluster.disruption_budgets),
            "with costs of evictions": has_costs,
            "with reservations": bool(cluster.reservations),
            "scenarios trimmed": plain.counters.trimmed,
            "waiting for a disruption budget": sum(
                1 for each in plain.outcomes if each.reason.code is ReasonCode.DISRUPTION_BUDGET
            ),
            "with eviction rates": bool(options.eviction_rates),
            "waiting for an eviction rate": sum(
                1 for each in plain.outcomes if each.reason.code is ReasonCode.EVICTION_RATE
            ),
            "with evictions": any(group.evictions for group in plain.groups),
            "searched": plain.counters.simulated > 0,
            "simulations saved": plain.counters.simulated - fast.counters.simulated,
            "simulations left": fast.counters.simulated,
            f"without {off}": 1,
        }
    )
    if not is_same(fast, plain):
        found["different"] = 1
        found[f"different: seed {seed}"] = 1
    if not is_same(partly, plain):
        found["different"] = 1
        found[f"different: seed {seed} without {off}"] = 1
    return found


def is_same(one: CycleResult, other: CycleResult) -> bool:
    """Whether the decision groups, the reservations to store and the kinds of all outcomes are equal.

    The reason of an unscheduled pod group may differ, because scenarios that are not simulated are not
    validated.
    """
    kinds = [[(o.pod_group, o.kind, o.bound, o.reserved) for o in d.outcomes] for d in (one, other)]
    is_alike = one.groups == other.groups and one.reservations == other.reservations
    return is_alike and kinds[0] == kinds[1]


def compare_all(seeds: Iterable[int], count: int) -> Counter[str]:
    """Sum of the results of these seeds, with a progress bar."""
    total: Counter[str] = Counter()
    with Pool(PROCESSES) as pool:
        results = pool.imap_unordered(compare, seeds, BATCH)
        for found in track(results, "comparing", total=count):
            total.update(found)
    return total


def main(
    count: Annotated[
        int, typer.Argument(min=1, help="Clusters; each number below is the seed of one")
    ] = 10_000,
) -> Counts:
    """Compare the search with and without speedups on random clusters: every decision must be the same."""
    total = compare_all(range(count), count)
    for name in sorted(total):
        print(f"{total[name]:>9} {name}")
    return Counts(count - total["different"], total["different"])


def decide_with(cluster: Cluster, speedups: tuple[str, ...], profile: Profile | None = None) -> CycleResult:
    """Decide with a profile, or the default one, without skipping those that are similar to a failed one."""
    profile = profile or default_profile()
    options = replace(profile.options, speedups=speedups, skip_similar_pod_groups=False)
    return decide(cluster, replace(profile, options=options))


def _profile(options: CycleOptions, has_costs: bool) -> Profile:
    """The default one; with costs, victims are ordered by them as well and sets of victims are compared."""
    profile = replace(default_profile(), options=options)
    if not has_costs:
        return profile
    options = replace(options, victim_alternatives=3)
    return replace(profile, plugins=(*profile.plugins, _COSTS), options=options)
