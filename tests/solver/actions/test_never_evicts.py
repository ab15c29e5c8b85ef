"""A pod group that never evicts causes no evictions by any action, and starts on free capacity (R6.26)."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions


def decided(*, never: bool, queue: str, priority: int, free: int = 0) -> CycleResult:
    """One node is in use by a pod group of queue `rich`; another one asks for a GPU."""
    builder = ClusterBuilder().queue("rich", quota=0).queue("poor", quota=1).node("n", gpus=1 + free)
    builder.running("old", queue="rich", node="n", gpus=1, priority=50)
    builder.pending("new", queue=queue, gpus=1, priority=priority, never_evicts=never)
    return answer(builder.build(), default_profile())


@pytest.mark.parametrize(("queue", "priority"), [("rich", 90), ("poor", 50)], ids=["preempt", "reclaim"])
def test_no_pod_is_evicted_for_it(queue: str, priority: int) -> None:
    assert list(evictions(decided(never=False, queue=queue, priority=priority)))
    result = decided(never=True, queue=queue, priority=priority)
    assert not list(evictions(result))
    assert [outcome.kind for outcome in result.outcomes] == [OutcomeKind.WAITING_FOR_CAPACITY]


def test_it_starts_on_free_capacity() -> None:
    (outcome,) = decided(never=True, queue="poor", priority=50, free=1).outcomes
    assert outcome.bound
