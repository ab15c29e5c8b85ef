"""Counters of a search without solution equal those that the reference scheduler publishes.

8N pods of one GPU run on N nodes in a queue that can lose 79 of them. A gang of ten pods with eight GPUs each
reclaims. Fairness permits nine of the ten.
"""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

GPUS_PER_NODE = 8
GANG = 10
ENDLESS = 1 << 30
KEEP_SIMULATIONS = tuple(
    name for name in SPEEDUPS if name not in ("first_victim", "reclaim_bound", "pruning")
)
"""Speedups that save no simulation."""


def reclaim(nodes: int, speedups: tuple[str, ...]) -> CycleResult:
    """Run the cycle on the cluster with this many nodes."""
    gpus = nodes * GPUS_PER_NODE
    builder = ClusterBuilder().queue("default")
    builder.queue("victims", parent="default", quota=gpus - GANG * GPUS_PER_NODE + 1, weight=0)
    builder.queue("reclaimer", parent="default", quota=GANG * GPUS_PER_NODE, weight=0)
    for number in range(nodes):
        builder.node(f"node{number}", gpus=GPUS_PER_NODE, memory_gib=20)
    for number in range(gpus):
        builder.running(f"running{number}", queue="victims", gpus=1, node=f"node{number % nodes}")
    builder.pending("gang", queue="reclaimer", gpus=GPUS_PER_NODE, count=GANG)
    options = CycleOptions(
        speedups=speedups,
        skip_similar_pod_groups=False,
        max_consolidation_victims=-1,
        max_simulations_per_pod_group=ENDLESS,
        max_simulations_per_action=ENDLESS,
    )
    return answer(builder.build(), replace(default_profile(), actions=("reclaim",), options=options))


@pytest.mark.parametrize(
    ("nodes", "speedups", "generated", "simulated", "duplicate"),
    [
        (10, (), 18, 18, 0),
        (50, (), 544, 178, 366),
        pytest.param(
            100, KEEP_SIMULATIONS, 1398, 378, 1020, marks=pytest.mark.long
        ),  # slow without any speedup
    ],
)
def test_plain_search_has_the_published_counters(
    nodes: int, speedups: tuple[str, ...], generated: int, simulated: int, duplicate: int
) -> None:
    decision = reclaim(nodes, speedups)
    counters = decision.counters
    assert (counters.generated, counters.simulated, counters.duplicate) == (generated, simulated, duplicate)
    assert decision.groups == ()


@pytest.mark.parametrize("nodes", [10, 50, 100])
def test_search_with_speedups_fails_as_well_without_simulations(nodes: int) -> None:
    decision = reclaim(nodes, SPEEDUPS)
    assert decision.groups == ()
    assert [outcome.kind for outcome in decision.outcomes] == [OutcomeKind.WAITING_FOR_QUOTA]
    assert decision.counters.simulated == 0
