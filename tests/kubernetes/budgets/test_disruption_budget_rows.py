"""PodDisruptionBudgets become rows, and pods on nodes name those that select them (semantics R15.1-R15.2)."""

from dataclasses import replace
from typing import Any, Final

import pytest
from tenure.kubernetes.observe.disruption_budgets import SEVERAL
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import apply_deltas

from tests.kubernetes.observe.cached_cluster import CONFIG, NOW, CachedCluster, member, pod_group, queue
from tests.kubernetes.observe.cached_cluster import node as a_node
from tests.kubernetes.observe.cached_cluster import pod as a_pod
from tests.kubernetes.observe.cached_cluster import running as a_running

WEB: Final = {"matchLabels": {"app": "web"}}
READY: Final = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def world() -> CachedCluster:
    """One node, and a pod group with a running and a pending pod of the app web."""
    world = CachedCluster()
    world.put("nodes", a_node())
    world.put("kai_queues", queue("q"))
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", a_running("runs", meta=labelled(), status=READY))
    world.put("pods", a_pod("waits", meta=labelled()))
    return world


def labelled(app: str = "web") -> dict[str, Any]:
    return {**member("g"), "labels": {"app": app}}


def budget(world: CachedCluster, selector: object = WEB, name: str = "limit", **status: Any) -> str:
    """Put a budget that was counted; `spec` and `namespace` change it."""
    spec = {"selector": selector, **status.pop("spec", {})}
    meta = {
        "name": name,
        "namespace": status.pop("namespace", "team"),
        "generation": 3,
        "uid": f"uid-{name[:9]}",
    }
    counted = {"observedGeneration": 3, "disruptionsAllowed": 1, **status}
    return world.put("disruption_budgets", {"metadata": meta, "spec": spec, "status": counted})


def named(snapshot: ClusterSnapshot) -> dict[str, list[str]]:
    return {pod.name: list(pod.disruption_budgets) for pod in snapshot.pods if pod.disruption_budgets}


def rows(snapshot: ClusterSnapshot) -> dict[str, int]:
    return {row.name: row.allowed for row in snapshot.disruption_budgets}


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        (WEB, True),
        ({}, True),
        (None, False),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
    ],
)
def test_pods_on_nodes_name_the_budget_that_selects_them(
    world: CachedCluster, selector: object, is_selected: bool
) -> None:
    budget(world, selector)
    snapshot = world.snapshot()
    assert named(snapshot) == ({"runs": ["team/limit"]} if is_selected else {})
    assert rows(snapshot) == ({"team/limit": 1} if is_selected else {})


def test_budgets_of_other_namespaces_select_nothing(world: CachedCluster) -> None:
    budget(world, namespace="other")
    assert (named(world.snapshot()), rows(world.snapshot())) == ({}, {})


def test_a_pod_with_two_budgets_spends_from_one_that_allows_nothing(world: CachedCluster) -> None:
    budget(world, disruptionsAllowed=7)
    budget(world, {}, "all", disruptionsAllowed=7)
    snapshot = world.snapshot()
    assert named(snapshot) == {"runs": ["team/all", "team/limit", SEVERAL]}
    assert rows(snapshot) == {"team/all": 7, "team/limit": 7, SEVERAL: 0}


def test_a_budget_that_was_changed_and_not_counted_since_allows_nothing(world: CachedCluster) -> None:
    budget(world, observedGeneration=2, disruptionsAllowed=5)
    assert rows(world.snapshot()) == {"team/limit": 0}


def test_pods_that_the_budget_counts_as_disrupted_are_named_by_uid(world: CachedCluster) -> None:
    budget(world, disruptedPods={"runs": "2027-01-02T00:00:00Z", "gone": "2027-01-02T00:00:00Z"})
    (row,) = world.snapshot().disruption_budgets
    assert list(row.counted_pods) == ["uid-runs"]


@pytest.mark.parametrize(
    ("fields", "spends"),
    [
        ({"currentHealthy": 1, "desiredHealthy": 2}, True),
        ({"currentHealthy": 2, "desiredHealthy": 2}, False),
        ({"currentHealthy": 0, "desiredHealthy": 0}, True),
        (
            {"currentHealthy": 0, "desiredHealthy": 2, "spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
            False,
        ),
    ],
)
def test_pods_that_are_not_ready_spend_unless_the_api_server_evicts_them_anyway(
    world: CachedCluster, fields: dict[str, Any], spends: bool
) -> None:
    world.put("pods", a_running("runs", meta=labelled()))
    budget(world, disruptionsAllowed=0, **fields)
    assert bool(named(world.snapshot())) is spends


def test_deletion_ignores_budgets(world: CachedCluster) -> None:
    budget(world)
    snapshot = world.snapshot(replace(CONFIG, has_budgets=False))
    assert (named(snapshot), rows(snapshot)) == ({}, {})


def test_a_name_that_is_too_long_is_replaced_by_the_uid(world: CachedCluster) -> None:
    uid = budget(world, name="b" * 253)
    assert rows(world.snapshot()) == {uid: 1}


def test_deltas_follow_budgets_and_pods(world: CachedCluster) -> None:
    """After each change, the rows are those of a new builder."""
    builder = world.builder()
    snapshot = builder.snapshot(NOW)
    changes = [
        lambda: budget(world),
        lambda: budget(world, disruptionsAllowed=0),
        lambda: world.put("pods", a_running("more", meta=labelled(), status=READY)),
        lambda: world.put("pods", a_running("runs", meta=labelled("db"), status=READY)),
        lambda: budget(world, {"matchLabels": {"app": "db"}}),
        lambda: budget(world, {}, "all"),
        lambda: world.remove("disruption_budgets", "uid-limit"),
        lambda: world.put("pods", a_running("runs", meta=labelled())),
        lambda: budget(world, {}, "all", currentHealthy=2, desiredHealthy=1),
        lambda: world.remove("pods", "uid-more"),
        lambda: world.remove("disruption_budgets", "uid-all"),
    ]
    for change in changes:
        change()
        delta = builder.delta(NOW)
        snapshot = apply_deltas(snapshot, delta)
        expected = CachedCluster.snapshot(world)
        assert (named(snapshot), rows(snapshot)) == (named(expected), rows(expected))
    assert rows(snapshot) == {}
