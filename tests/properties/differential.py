"""The check `differential`: decisions with and without speedups, and with and without a diagnosis."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing import Pool
from typing import Annotated, Any, Final

import typer
from rich.progress import track
from tenure.solver.actions.known_failures import passing_over_known_failures
from tenure.solver.cycle import decide
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.diagnose import diagnose
from tenure.solver.diagnosis.reason_probes import UNCHECKED, UNCHECKED_SHARE
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, PodGroupOutcome
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.result.cycle_result import Decided
from tenure.terms.reasons import ReasonCode

from tests.checks import Counts
from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.disruption_budgets import random_pacing, with_disruption_budgets
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.standing_reservations import with_reservations
from tests.solver.placement_profiles import with_fragmentation
from tests.solver.sessions import session_state

PROCESSES: Final = 2
BATCH: Final = 20
_BY_PRIORITY: Final = {"queuePriorityInQuotaReclaim": "true"}
_STEADY: Final = {"steadyFairShareReclaim": "true"}
_SIZES: Final = PluginConfig("gpujoborder", {"mode": "evict-smaller-first"})
_COSTS: Final = PluginConfig("evictioncost", {"priorityBand": "50"})


def compare(seed: int) -> Counter[str]:
    """Compare decisions on the cluster of a seed: all speedups, none, all but one; diagnosed or not.

    The seed selects the disabled speedup. `different` counts clusters with any difference. Every fourth
    cluster has constraints on other pods, two of five have disruption budgets, one of five is nearly full.
    One of five is decided with costs of evictions, one of eleven with reservations, one of three with the
    plugin `fragmentation`, one of thirteen with reclaim by priorities of queues, two with that by steady
    shares, and one of nine with victims by size.
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
    profile = _profile(with_fragmentation() if seed % 3 == 1 else default_profile(), options, has_costs)
    if seed % 11 == 5:
        cluster, profile = with_reservations(SeededDraw(-11 - seed), cluster, profile)
    if seed % 13 == 8:
        profile = _reclaiming(profile, _BY_PRIORITY)
    if seed % 13 in (1, 4):
        profile = _reclaiming(profile, _STEADY)
    if seed % 9 == 7:
        profile = replace(profile, plugins=(*profile.plugins, _SIZES))
    some = tuple(name for name in SPEEDUPS if name != off)
    fast, plain, partly = (decide_with(cluster, names, profile) for names in (SPEEDUPS, (), some))
    found = Counter(
        {
            "clusters": 1,
            "with constraints on other pods": beside is not None,
            "with disruption budgets": bool(cluster.disruption_budgets),
            "with costs of evictions": has_costs,
            "placed by fragmentation": seed % 3 == 1,
            "with reclaim by priorities of queues": seed % 13 == 8,
            "with reclaim by steady shares": seed % 13 in (1, 4),
            "with victims by size": seed % 9 == 7,
            "with planned starts": bool(cluster.carried.rows(PLANNED_STARTS)),
            "scenarios trimmed": plain.counters.trimmed,
            "waiting for a disruption budget": sum(
                1 for each in plain.outcomes if each.reason.code is ReasonCode.DISRUPTION_BUDGET
            ),
            "reasons not checked": sum(map(was_unchecked, plain.outcomes)),
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
    if problem := diagnosis_problem(cluster, profile, fast):
        found["different"] = 1
        found[f"different: seed {seed}: {problem}"] = 1
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
    validated. So may its kind where either says that something was not checked: the probes of reasons have a
    limit of simulations, and with speedups they need fewer.
    """
    if one.groups != other.groups or one.planned_starts != other.planned_starts:
        return False
    pairs = list(zip(one.outcomes, other.outcomes, strict=True))
    amounts = [[(o.pod_group, o.bound, o.reserved) for o in pair] for pair in pairs]
    is_alike = all(a == b for a, b in amounts)
    return is_alike and all(a.kind is b.kind or was_unchecked(a) or was_unchecked(b) for a, b in pairs)


def was_unchecked(outcome: PodGroupOutcome) -> bool:
    """Whether its reason says that another one was not checked."""
    return outcome.reason.detail.endswith((UNCHECKED, UNCHECKED_SHARE))


def diagnosis_problem(cluster: Cluster, profile: Profile, diagnosed: CycleResult) -> str:
    """What a diagnosis changes, or a cycle without one decides otherwise; empty: nothing."""
    options = replace(profile.options, speedups=SPEEDUPS, skip_similar_pod_groups=False)
    decided = decide(cluster, replace(profile, options=options))
    before = _committed(decided)
    diagnose(decided)
    is_changed = _committed(decided) != before
    decided.close()
    options = replace(options, skip_similar_pod_groups=True)
    alone = decide(cluster, passing_over_known_failures(replace(profile, options=options))).close()
    skipping = answer(cluster, replace(profile, options=options))
    if is_changed:
        return "the diagnosis changes the session"
    if decided.result.groups != diagnosed.groups:
        return "groups differ with a diagnosis"
    decisions = (alone.groups, alone.planned_starts, alone.queues)
    if decisions != (skipping.groups, skipping.planned_starts, skipping.queues):
        return "groups differ without a diagnosis"
    return ""


def _committed(decided: Decided) -> Any:
    """All of a session that decisions come from."""
    session = decided.context.session
    commits = [(each.action.name, each.beneficiary, each.reason, len(each.moves)) for each in session.commits]
    patches = list(session.patches), list(session.standalone_patches)
    records = dict(session.eviction_history), session.in_flight, session.planned_starts
    return session_state(session), commits, patches, records, list(session.wake_times)


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
    return answer(cluster, replace(profile, options=options))


def _reclaiming(profile: Profile, rights: dict[str, str]) -> Profile:
    """With optional rights to reclaim."""
    return replace(
        profile,
        plugins=tuple(
            PluginConfig(each.name, {**each.arguments, **rights}) if each.name == "proportion" else each
            for each in profile.plugins
        ),
    )


def _profile(profile: Profile, options: CycleOptions, has_costs: bool) -> Profile:
    """With these options. With costs, victims are ordered by them, too, and sets of victims are compared."""
    profile = replace(profile, options=options)
    if not has_costs:
        return profile
    options = replace(options, victim_alternatives=3)
    return replace(profile, plugins=(*profile.plugins, _COSTS), options=options)
