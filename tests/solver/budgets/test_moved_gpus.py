"""At most so many GPUs restart elsewhere for each GPU that is requested (semantics R15.14)."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

SPEED = pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])


def cluster() -> ClusterBuilder:
    """`new` needs the one GPU of its zone, whose pod of four GPUs fits on the other node."""
    builder = ClusterBuilder().node("a", gpus=4, labels={"zone": "x"}).node("b", gpus=4)
    builder.queue("low", quota=0).queue("high", quota=8)
    builder.running("old", queue="low", priority=50, node="a", gpus=4)
    return builder.pending("new", queue="high", priority=50, gpus=1, node_selector={"zone": "x"})


def decided(action: str, most: int, speedups: tuple[str, ...], *, evicts: bool = False) -> CycleResult:
    builder = cluster()
    if evicts:
        builder.running("full", queue="high", priority=50, node="b", gpus=4)
    default = default_profile()
    options = replace(default.options, max_moved_gpus_per_gpu=most, speedups=speedups)
    return answer(builder.build(), replace(default, actions=(action,), options=options))


@SPEED
@pytest.mark.parametrize("action", ["consolidation", "reclaim"])
@pytest.mark.parametrize("most", [-1, 4])
def test_what_the_limit_permits_moves_r15_14(action: str, most: int, speedups: tuple[str, ...]) -> None:
    (group,) = decided(action, most, speedups).groups
    assert [step.relocating for step in group.evictions] == [True]


@SPEED
@pytest.mark.parametrize("action", ["consolidation", "reclaim"])
@pytest.mark.parametrize("most", [0, 3])
def test_the_limit_is_told_when_it_is_the_obstacle_r15_14(
    action: str, most: int, speedups: tuple[str, ...]
) -> None:
    result = decided(action, most, speedups)
    assert result.groups == ()
    (outcome,) = result.outcomes
    assert outcome.reason.code is ReasonCode.EVICTION_RATE
    assert outcome.reason.detail == (
        f"4 GPUs would restart on other nodes for 1 GPU, and at most {most} may for each (maxMovedGpusPerGpu)"
    )
    assert outcome.reason.until is None


@SPEED
def test_evicted_pods_do_not_count_r15_14(speedups: tuple[str, ...]) -> None:
    (group,) = decided("reclaim", 0, speedups, evicts=True).groups
    assert [step.relocating for step in group.evictions] == [False]
