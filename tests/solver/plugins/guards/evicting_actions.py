"""One pod group in the way of another, and one of the four evicting actions that could make room."""

from dataclasses import replace
from typing import Any

from tenure.solver.cycle import decide
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, Protection
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder


def profile(guard: str, *actions: str, **arguments: str) -> Profile:
    """The default plugins and this guard; after allocate only these actions run."""
    default = default_profile()
    settings = (*default.plugins, PluginConfig(guard, arguments))
    return replace(default, actions=("allocate", *actions), plugins=settings)


def contested_cluster(action: str, **options: Any) -> Cluster:
    """`old` (with these options) holds the room that `new` wants; only `action` gives it to `new`.

    It has run for an hour of the 30 minutes that were expected, unless the options say otherwise.
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
    """What the guard says about `old` when `new` asks."""
    session = Session.open(cluster, with_required_plugins(profile(guard, **arguments)), BUILT_IN)
    by_name = {group.facts.name: group.index for group in cluster.pod_groups}
    verdicts = session.guards.verdicts(BUILT_IN.actions[action], by_name["new"], by_name["old"])
    return next((verdict for verdict in verdicts if verdict.guard == guard), None)


def reported_protection(cluster: Cluster, guard: str, **arguments: str) -> list[Protection]:
    """What the answer says about the protection of `old` by the guard."""
    old = next(group.index for group in cluster.pod_groups if group.facts.name == "old")
    found = decide(cluster, profile(guard, **arguments)).protections
    return [each for each in found if each.guard == guard and each.pod_group == old]
