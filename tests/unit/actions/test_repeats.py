"""What one pod group found no room for, another that asks for the same is not searched for again."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Options
from tenure.solver.model.decision import Decision, OutcomeKind
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder


def reclaim(*asking: tuple[int, int]) -> Decision:
    """Two jobs run on a node that is full, in a queue that goes first and so takes its room back; then these
    ask one after the other, with so many pods and CPUs.
    """
    builder = ClusterBuilder().node("n", gpus=2)
    builder.queue("first", quota=1, weight=0, priority=200).queue("second", quota=0, weight=1)
    for name in ("a", "b"):
        builder.running(name, queue="first", gpus=1, node="n")
    for number, (count, cpus) in enumerate(asking):
        builder.pending(f"asks{number}", queue="second", gpus=1, cpus=cpus, count=count)
    profile = replace(default_profile(), actions=("reclaim",), options=Options(skip_similar=False))
    return decide(builder.build(), profile)


@pytest.mark.parametrize(
    ("asking", "searches"),
    [(((1, 1),), 1), (((1, 1), (1, 1)), 1), (((1, 1), (1, 2)), 2), (((1, 1), (1, 2), (1, 1)), 2)],
)
def test_equal_requests_of_a_queue_are_searched_for_once(
    asking: tuple[tuple[int, int], ...], searches: int
) -> None:
    alone = reclaim((1, 1)).counters.simulated
    decision = reclaim(*asking)
    assert alone > 0
    assert decision.counters.simulated == searches * alone
    assert [outcome.kind for outcome in decision.outcomes] == [OutcomeKind.INFEASIBLE] * len(asking)
    assert len({outcome.reason for outcome in decision.outcomes}) == 1
