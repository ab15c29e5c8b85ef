"""Clusters with a victim and a preemptor, in which only one of the four evicting actions frees capacity."""

from dataclasses import replace
from typing import Any

from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.verdict import GuardVerdict, Protection
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder


def profile(guard: str, *actions: str, **arguments: str) -> Profile:
    """The default profile with this guard. Only these actions run after allocate."""
    default = default_profile()
    settings = (*default.plugins, PluginConfig(guard, arguments))
    return replace(default, actions=("allocate", *actions), plugins=settings)


def contested_cluster(action: str, **options: Any) -> Cluster:
    """`old` (with these options) uses the capacity that `new` needs. Only `action` can free it.

    Unless the options differ, `old` has run for an hour, with an expected runtime of 30 minutes.
    """
    builder = ClusterBuilder().node("n", gpus=2).queue("a", quota=0 if action == "reclaim" else 8)
    builder.queue("b", quota=8)
    size = 2
    if action == "consolidation":
        size = 1
        firm = Preemptibility.NON_PREEMPTIBLE
        builder.node("n2", gpus=2).running("firm", queue="a", gpus=1, node="n2", preemptibility=firm)
    options = {"priority": 50, "expected_runtime": "30m", **options}
    builder.running("old", queue="a", gpus=1, count=size, node="n", **options)
    asking = "b" if action == "reclaim" else "a"
    return builder.pending("new", queue=asking, gpus=2, priority=75).build()


def evictions_of(cluster: Cluster, decision: CycleResult) -> list[tuple[str, str]]:
    """Action and pod of every eviction."""
    return [
        (group.action, cluster.tasks[evict.task].facts.uid)
        for group in decision.groups
        for evict in group.evictions
    ]


def guard_verdict(cluster: Cluster, action: str, guard: str, **arguments: str) -> GuardVerdict | None:
    """Verdict of the guard about `old` for the preemptor `new`."""
    session = Session.open(cluster, with_required_plugins(profile(guard, **arguments)), BUILT_IN)
    by_name = {group.facts.name: group.index for group in cluster.pod_groups}
    verdicts = session.guards.verdicts(BUILT_IN.actions[action], by_name["new"], by_name["old"])
    return next((verdict for verdict in verdicts if verdict.guard == guard), None)


def reported_protection(cluster: Cluster, guard: str, **arguments: str) -> list[Protection]:
    """Protection of `old` by the guard, as reported in the response."""
    old = next(group.index for group in cluster.pod_groups if group.facts.name == "old")
    found = answer(cluster, profile(guard, **arguments)).protections
    return [each for each in found if each.guard == guard and each.pod_group == old]
