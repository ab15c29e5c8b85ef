"""Consolidation does not search for a pod group that its queue must not start (semantics R4.62, R6.33).

Each relocated pod group uses as much as before, so relocating cannot bring a queue below its limit.
"""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions, statuses


def scattered(*, limit: int, others: str = "open") -> ClusterBuilder:
    """Two nodes with one of two GPUs free each. `waits` needs two GPUs of one node."""
    builder = ClusterBuilder().node("a", gpus=2).node("b", gpus=2)
    builder.queue("open").queue("limited", limit=limit)
    builder.running("on-a", queue=others, gpus=1, node="a").running("on-b", queue=others, gpus=1, node="b")
    return builder.pending("waits", queue="limited", gpus=2)


def consolidate(builder: ClusterBuilder, speedups: tuple[str, ...] = SPEEDUPS) -> CycleResult:
    options = CycleOptions(speedups=speedups)
    profile = replace(default_profile(), actions=("allocate", "consolidation"), options=options)
    return answer(builder.build(), profile)


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "fast"])
@pytest.mark.parametrize(
    ("limit", "others", "simulated"),
    [
        pytest.param(2, "open", 1, id="room below the limit"),
        pytest.param(1, "open", 0, id="limit below the request"),
        pytest.param(3, "limited", 0, id="limit in use by those to be relocated"),
        pytest.param(4, "limited", 1, id="room beside those to be relocated"),
    ],
)
def test_pod_group_is_searched_for_only_below_the_limit_of_its_queue(
    limit: int, others: str, simulated: int, speedups: tuple[str, ...]
) -> None:
    decision = consolidate(scattered(limit=limit, others=others), speedups)
    assert decision.counters.simulated == simulated
    assert bool(decision.groups) == bool(simulated)


def test_pod_group_at_its_limit_does_not_stop_a_similar_one_of_another_queue() -> None:
    builder = scattered(limit=1).pending("may-start", queue="open", gpus=2, priority=1)
    cluster = builder.build()
    decision = answer(cluster, replace(default_profile(), actions=("allocate", "consolidation")))
    relocated, started = list(evictions(decision)), statuses(cluster, decision)["may-start-0"]
    assert (len(relocated), started.status) == (1, TaskStatus.PIPELINED)
