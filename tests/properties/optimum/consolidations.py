"""Consolidations beside the fewest moves: the figures of many seeds (`optimum --consolidation`).

The fewest moves are proven by the rules alone. They are certified where the product itself starts the gang
with fewer moves than it took, given the same snapshot with all other running pods, or all of other pod
groups, under a disruption budget of 0. A core of which a part may not move does not move, so many are not.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from rich import box
from rich.table import Table
from tenure.v1.decision_pb2 import MINIMALITY_LEAST, MINIMALITY_PROVEN, DecisionGroup
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.optimum.case import ENGINE
from tests.properties.optimum.cluster_facts import ClusterFacts
from tests.properties.optimum.gang_snapshots import CONSOLIDATION, gang_snapshot
from tests.properties.optimum.judged_choice import disrupted, frozen_beside, groups_of_gang
from tests.properties.optimum.least_moves import least_moves
from tests.properties.optimum.least_victims import NotProven, measured
from tests.properties.optimum.limits import quantile
from tests.properties.optimum.needless_moves import needless_moves

MOST_MOVED: Final = 1.1
MOST_MISSED: Final = 0.03


class Moves(NamedTuple):
    """One seed: what is moved, and the fewest that suffice. None: the gang does not start so."""

    seed: int
    pods: int | None
    gpus: int
    fewest_pods: int | None
    fewest_gpus: int
    certified: int | None
    """Pods that the product moves where only the fewest may be, or only their pod groups."""
    needless: int
    """Moved pods that could stay."""
    is_claimed: bool
    """Whether the decision claims that all are needed."""
    is_proven: bool


def moves_of(seed: int) -> Moves | None:
    """Decide on the snapshot of a seed. None: the gang starts where it is, or no moves suffice."""
    snapshot = gang_snapshot(seed, CONSOLIDATION)
    facts = ClusterFacts(snapshot, CONSOLIDATION)
    groups = groups_of_gang(ENGINE, snapshot, CONSOLIDATION)
    if groups and not disrupted(groups[0]):
        return None
    try:
        fewest, least_gpus = least_moves(facts, "pods"), least_moves(facts, "gpus")
        moved = disrupted(groups[0]) if groups else frozenset()
        needless = needless_moves(facts, moved, frozenset()) if groups else 0
    except NotProven:
        return Moves(seed, None, 0, None, 0, None, 0, False, False)
    if fewest is None or least_gpus is None:
        return None if not groups else _moves(seed, facts, groups[0], None, 0, None, needless)
    if not fewest and not groups and groups_of_gang(ENGINE, snapshot, "allocate"):
        return None  # that is not for consolidation, which comes after it
    number, gpus = len(fewest), measured(facts, least_gpus).gpus
    certified = _certified(snapshot, facts, fewest)
    if not groups:
        return Moves(seed, None, 0, number, gpus, certified, 0, False, True)
    return _moves(seed, facts, groups[0], number, gpus, certified, needless)


def _moves(
    seed: int,
    facts: ClusterFacts,
    group: DecisionGroup,
    fewest: int | None,
    gpus: int,
    certified: int | None,
    needless: int,
) -> Moves:
    pods = disrupted(group)
    is_claimed = group.victim_set.minimality in (MINIMALITY_PROVEN, MINIMALITY_LEAST)
    own = measured(facts, pods).gpus
    return Moves(seed, len(pods), own, fewest, gpus, certified, needless, is_claimed, True)


def _certified(snapshot: ClusterSnapshot, facts: ClusterFacts, pods: frozenset[str]) -> int | None:
    touched = {facts.group_of[pod] for pod in pods}
    with_groups = {pod.uid for pod in facts.running if pod.pod_group in touched}
    found = []
    for free_to_move in (pods, with_groups):
        groups = groups_of_gang(ENGINE, frozen_beside(snapshot, free_to_move), CONSOLIDATION)
        found += [len(disrupted(group)) for group in groups if disrupted(group)]
    return min(found, default=None)


class MovesSummary(NamedTuple):
    """Figures of many seeds."""

    clusters: int
    both: int
    """Gangs that start by moves, in the decision and by the rules."""
    pods: int
    fewest_pods: int
    certified_pods: int
    gpus: int
    fewest_gpus: int
    more_pods: int
    ratio_median: float
    ratio_p90: float
    ratio_p99: float
    ratio_max: float
    needless_in: int
    needless_pods: int
    refuted: int
    missed: int
    missed_without_moves: int
    """Gangs that would start without any move, if their own pods were placed otherwise."""
    missed_certified: int
    beyond_the_rules: int
    """Gangs that start, although no moves are legal by what the rules say."""
    not_proven: int


def moves_summary(clusters: int, found: Iterable[Moves | None]) -> MovesSummary:
    """Sums over seeds."""
    known = [each for each in found if each is not None]
    started = [each for each in known if each.pods is not None]
    both = [(each, each.pods, each.fewest_pods) for each in started if each.pods and each.fewest_pods]
    ratios = sorted(pods / fewest for _, pods, fewest in both)
    missed = [each for each in known if each.pods is None and each.fewest_pods is not None]
    return MovesSummary(
        clusters=clusters,
        both=len(both),
        pods=sum(pods for _, pods, _ in both),
        fewest_pods=sum(fewest for _, _, fewest in both),
        certified_pods=sum(min(pods, each.certified or pods) for each, pods, _ in both),
        gpus=sum(each.gpus for each, _, _ in both),
        fewest_gpus=sum(each.fewest_gpus for each, _, _ in both),
        more_pods=sum(pods > fewest for _, pods, fewest in both),
        ratio_median=quantile(ratios, 0.5),
        ratio_p90=quantile(ratios, 0.9),
        ratio_p99=quantile(ratios, 0.99),
        ratio_max=quantile(ratios, 1),
        needless_in=sum(each.needless > 0 for each in started),
        needless_pods=sum(each.needless for each in started),
        refuted=sum(each.is_claimed and each.needless > 0 for each in started),
        missed=len(missed),
        missed_without_moves=sum(each.fewest_pods == 0 for each in missed),
        missed_certified=sum(each.certified is not None for each in missed),
        beyond_the_rules=sum(each.fewest_pods is None for each in started),
        not_proven=sum(not each.is_proven for each in known),
    )


def moves_limits(found: MovesSummary) -> dict[str, bool]:
    """What is required, and whether it holds."""
    possible = found.both + found.missed
    return {
        f"pods moved: at most {MOST_MOVED:g} times the optimum": found.pods <= MOST_MOVED * found.fewest_pods,
        f"no start, though moves suffice: at most {MOST_MISSED:.0%}": found.missed <= MOST_MISSED * possible,
        "claims that are refuted: 0": found.refuted == 0,
    }


def moves_table(found: MovesSummary) -> Table:
    """One row for each figure."""
    table = Table("", "consolidation", box=box.SIMPLE)
    ratios = (found.ratio_median, found.ratio_p90, found.ratio_p99, found.ratio_max)
    rows = (
        ("clusters", f"{found.clusters:,}"),
        ("starts by moves", f"{found.both:,}"),
        ("pods moved", f"{found.pods:,}"),
        ("  at the optimum", f"{found.fewest_pods:,}"),
        ("  that the product moves where others are frozen", f"{found.certified_pods:,}"),
        ("  more than needed in", f"{found.more_pods:,}"),
        ("GPUs moved", f"{found.gpus:,}"),
        ("  at the optimum of GPUs alone", f"{found.fewest_gpus:,}"),
        ("pods to optimum: median, p90, p99, max", ", ".join(f"{ratio:.2f}" for ratio in ratios)),
        ("moved pods that could stay", f"{found.needless_pods:,} in {found.needless_in:,}"),
        ("claims that are refuted", f"{found.refuted:,}"),
        ("no start, though moves suffice", f"{found.missed:,}"),
        ("  without any move", f"{found.missed_without_moves:,}"),
        ("  certified", f"{found.missed_certified:,}"),
        ("starts beyond what the rules permit", f"{found.beyond_the_rules:,}"),
        ("proofs that ended without a result", f"{found.not_proven:,}"),
    )
    for row in rows:
        table.add_row(*row)
    return table
