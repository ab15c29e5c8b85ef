"""The check `differential`: the same decisions with and without pruning, on many random clusters."""

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
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.registry import default_profile

from tests.checks import Counts
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

PROCESSES: Final = 2
BATCH: Final = 20


def _profile(*, prune: bool) -> Profile:
    return replace(default_profile(), options=CycleOptions(prune=prune, skip_similar_pod_groups=False))


PRUNED: Final = _profile(prune=True)
PLAIN: Final = _profile(prune=False)


def compare(seed: int) -> Counter[str]:
    """What happened on the cluster of this seed, `different` when pruning made a difference."""
    cluster = random_cluster(SeededDraw(seed))
    pruned, plain = decide(cluster, PRUNED), decide(cluster, PLAIN)
    found = Counter(
        {
            "clusters": 1,
            "with evictions": any(group.evictions for group in plain.groups),
            "searched": plain.counters.simulated > 0,
            "simulations pruned": plain.counters.simulated - pruned.counters.simulated,
            "simulations left": pruned.counters.simulated,
        }
    )
    if not is_same(cluster, pruned, plain):
        found["different"] = 1
        found[f"different: seed {seed}"] = 1
    return found


def is_same(cluster: Cluster, pruned: CycleResult, plain: CycleResult) -> bool:
    """Whether the same was decided: groups, and the kind of every outcome.

    The reason of a pod group that gets nothing may differ: what is not simulated is not validated.
    """
    kinds = [[(o.pod_group, o.kind, o.bound, o.reserved) for o in d.outcomes] for d in (pruned, plain)]
    return pruned.groups == plain.groups and kinds[0] == kinds[1]


def compare_all(seeds: Iterable[int], count: int) -> Counter[str]:
    """The sum over these seeds, with a progress bar."""
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
    """Compare the pruned with the plain search on random clusters: every decision must be the same."""
    total = compare_all(range(count), count)
    for name in sorted(total):
        print(f"{total[name]:>9} {name}")
    return Counts(count - total["different"], total["different"])
