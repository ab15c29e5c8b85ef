"""Levels that can set the minimum runtime: node pool, inner queue or leaf queue; and the meaning of zero."""

from collections.abc import Mapping

import pytest
from tenure.solver.model.cluster import Cluster

from tests.solver.plugins.guards.min_runtime.contested_gpu import (
    evicted_pods,
    preemption_cluster,
    profile,
    reclaim_cluster,
    tree,
    without_minruntime,
)

PARENTS = {"top": "", "team": "top", "leaf": "team", "neighbour": "team"}
POOL_VALUE = {"reclaim": "defaultReclaimMinRuntime", "preempt": "defaultPreemptMinRuntime"}
ACTIONS = list(POOL_VALUE)

LEVELS: dict[str, tuple[dict[str, str], str | None, int]] = {
    "nobody says anything: the default is 0, as it always was": ({}, None, 0),
    "R7.10 the node pool's value, when no queue has one": ({}, "10m", 600),
    "R7.10 a queue overrides the node pool, downwards": ({"top": "1m"}, "10m", 60),
    "R7.10 a queue overrides the node pool, upwards": ({"top": "20m"}, "10m", 1200),
    "R7.10 a queue in the middle counts as well": ({"team": "1m"}, "10m", 60),
    "R7.10 a child overrides its parent, downwards": ({"top": "20m", "leaf": "1m"}, None, 60),
    "R7.10 a child overrides its parent, upwards": ({"top": "1m", "leaf": "20m"}, None, 1200),
    "R7.10 of three levels the nearest": ({"top": "3m", "team": "2m", "leaf": "1m"}, "10m", 60),
    "R7.4 what is not set inherits: through two levels": ({"top": "5m"}, None, 300),
    "R7.4 an explicit 0 is not the same as unset": ({"top": "5m", "leaf": "0s"}, "10m", 0),
}


def is_evictable(action: str, ran: str, **minimums: Mapping[str, str]) -> Cluster:
    """Whether `old` in `leaf` is evicted for a preemptor of higher priority there, or of a neighbor queue."""
    if action == "preempt":
        return preemption_cluster(tree(PARENTS, rich="leaf", **minimums), "leaf", ran)
    return reclaim_cluster(tree(PARENTS, rich="neighbour", **minimums), "neighbour", "leaf", ran)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("values", "pool", "minimum_s"), LEVELS.values(), ids=LEVELS)
def test_the_nearest_value_counts(
    action: str, values: Mapping[str, str], pool: str | None, minimum_s: int
) -> None:
    chosen = profile() if pool is None else profile(**{POOL_VALUE[action]: pool})

    def after(seconds: int) -> list[str]:
        return evicted_pods(is_evictable(action, f"{seconds}s", **{action: values}), chosen)

    assert after(minimum_s) == ["old-0"]
    if minimum_s:
        assert after(minimum_s - 1) == []


@pytest.mark.parametrize(("action", "other"), [ACTIONS, ACTIONS[::-1]], ids=ACTIONS)
def test_each_action_uses_only_its_own_minimum_r7_46(action: str, other: str) -> None:
    """The longer minimum of the other action, on the leaf and for the node pool, has no effect."""
    cluster = is_evictable(action, "1h", **{other: {"leaf": "2h"}})
    assert evicted_pods(cluster, profile(**{POOL_VALUE[other]: "2h"})) == ["old-0"]


@pytest.mark.parametrize("action", ACTIONS)
def test_explicit_zero_means_no_protection(action: str) -> None:
    cluster = is_evictable(action, "0s", **{action: {"leaf": "0s"}})
    assert evicted_pods(cluster) == evicted_pods(cluster, without_minruntime()) == ["old-0"]


@pytest.mark.parametrize("action", ACTIONS)
def test_without_the_plugin_no_minimum_protects(action: str) -> None:
    cluster = is_evictable(action, "1h", **{action: {"leaf": "2h"}})
    assert (evicted_pods(cluster), evicted_pods(cluster, without_minruntime())) == ([], ["old-0"])
