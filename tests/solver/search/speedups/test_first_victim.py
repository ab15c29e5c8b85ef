"""A single task in a full cluster is tried with the first victim only.

The result equals that of a search without this speedup.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder


def evictable_victim() -> ClusterBuilder:
    builder = ClusterBuilder().node("n", gpus=2).queue("rich", quota=0, weight=0).queue("poor", quota=2)
    for name in ("a", "b"):
        builder.running(name, queue="rich", gpus=1, node="n")
    return builder.pending("asks", queue="poor", gpus=1)


def victim_with_too_few_cpus() -> ClusterBuilder:
    """The first victim frees a GPU, but too few CPUs."""
    builder = ClusterBuilder().node("n", gpus=2, cpus=4)
    builder.queue("rich", quota=0, weight=0).queue("poor", quota=2)
    for name in ("a", "b"):
        builder.running(name, queue="rich", gpus=1, cpus=2, node="n")
    return builder.pending("asks", queue="poor", gpus=1, cpus=3)


def victims_within_fair_share() -> ClusterBuilder:
    """No victim may be evicted, neither one alone nor both."""
    builder = ClusterBuilder().node("n", gpus=2)
    builder.queue("first", quota=1, weight=0, priority=200).queue("second", quota=0, weight=1)
    for name in ("a", "b"):
        builder.running(name, queue="first", gpus=1, node="n")
    return builder.pending("asks", queue="second", gpus=1)


def gang_on_two_nodes() -> ClusterBuilder:
    builder = ClusterBuilder().node("n", gpus=1).node("o", gpus=1)
    builder.queue("rich", quota=0, weight=0).queue("poor", quota=2)
    builder.running("gang", queue="rich", gpus=1, node="n").running("gang", gpus=1, node="o")
    return builder.pending("asks", queue="poor", gpus=1)


def decision_of(builder: ClusterBuilder, speedups: tuple[str, ...]) -> CycleResult:
    profile = replace(default_profile(), actions=("reclaim",), options=CycleOptions(speedups=speedups))
    return answer(builder.build(), profile)


@pytest.mark.parametrize(
    ("case", "simulated"),
    [
        (evictable_victim, 1),
        (victim_with_too_few_cpus, 2),
        (victims_within_fair_share, 3),
        (gang_on_two_nodes, 1),
    ],
)
def test_result_equals_that_of_the_complete_search(
    case: Callable[[], ClusterBuilder], simulated: int
) -> None:
    quick, plain = decision_of(case(), SPEEDUPS), decision_of(case(), ())
    assert quick.groups == plain.groups
    assert [outcome.kind for outcome in quick.outcomes] == [outcome.kind for outcome in plain.outcomes]
    assert quick.counters.simulated == simulated
