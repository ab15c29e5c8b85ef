"""Victims of a successful probe are recorded for later attempts; the others are not evicted again."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_r5_6_across_nodes_only_batches_that_lost_pods_are_recorded(speedups: tuple[str, ...]) -> None:
    """The limit of the queue demands victims on several nodes. The first solution evicts all of them and
    places the core of `elastic` back. The final attempt leaves that core alone, so its surplus fits again.
    """
    builder = ClusterBuilder().queue("q", limit=8)
    for name in "abc":
        builder.node(name, gpus=6)
    builder.node("free", gpus=6)
    builder.running(
        "elastic", queue="q", priority=50, gpus=1, node="a", count=2, min_member=1, created_ago="1h"
    )
    builder.running("newer", queue="q", priority=50, gpus=3, node="b", created_ago="2h")
    builder.running("older", queue="q", priority=50, gpus=3, node="c", created_ago="3h")
    builder.pending("new", queue="q", priority=75, gpus=6)
    profile = replace(default_profile(), actions=("preempt",), options=CycleOptions(speedups=speedups))
    cluster = builder.build()
    evicted = evictions(answer(cluster, profile))
    assert sorted(cluster.tasks[task].facts.uid for task in evicted) == ["newer-0", "older-0"]
