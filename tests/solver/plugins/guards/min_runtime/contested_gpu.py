"""A full cluster in which only a minimum runtime prevents the eviction of a pod group."""

from collections.abc import Mapping
from dataclasses import replace

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.solver.testing.options import QueueOptions

NAME = "minruntime"


def profile(**arguments: str) -> Profile:
    """The default profile with these arguments of minruntime."""
    default = default_profile()
    plugins = (
        replace(each, arguments={**each.arguments, **arguments}) if each.name == NAME else each
        for each in default.plugins
    )
    return replace(default, plugins=tuple(plugins))


def without_minruntime() -> Profile:
    """The default profile without minimum runtimes."""
    default = default_profile()
    return replace(default, plugins=tuple(each for each in default.plugins if each.name != NAME))


def tree(
    parents: Mapping[str, str],
    *,
    rich: str,
    reclaim: Mapping[str, str] | None = None,
    preempt: Mapping[str, str] | None = None,
) -> ClusterBuilder:
    """Queues by name and parent, with the minimum runtimes of some of them.

    Only the queue `rich` and its ancestors have a quota, so `rich` can reclaim from all other queues.
    """
    builder = ClusterBuilder()
    path = _path(parents, rich)
    for name, parent in parents.items():
        options: QueueOptions = {"parent": parent, "quota": 8 if name in path else 0}
        if reclaim and name in reclaim:
            options["reclaim_min_runtime"] = reclaim[name]
        if preempt and name in preempt:
            options["preempt_min_runtime"] = preempt[name]
        builder.queue(name, **options)
    return builder


def reclaim_cluster(builder: ClusterBuilder, reclaimer: str, victim: str, ran: str) -> Cluster:
    """A node with one GPU that `old` of queue `victim` uses and `new` of queue `reclaimer` needs."""
    return (
        builder.node("n", gpus=1)
        .running("old", queue=victim, gpus=1, node="n", started_ago=ran)
        .pending("new", queue=reclaimer, gpus=1)
        .build()
    )


def preemption_cluster(builder: ClusterBuilder, leaf: str, ran: str) -> Cluster:
    """A contested GPU within one leaf queue. `new` has the higher priority."""
    return (
        builder.node("n", gpus=1)
        .running("old", queue=leaf, gpus=1, node="n", started_ago=ran)
        .pending("new", queue=leaf, gpus=1, priority=75)
        .build()
    )


def evicted_pods(cluster: Cluster, with_profile: Profile | None = None) -> list[str]:
    """Uids of the pods that a cycle evicts."""
    decision = answer(cluster, with_profile or default_profile())
    return [cluster.tasks[task].facts.uid for task in evictions(decision)]


def _path(parents: Mapping[str, str], queue: str) -> set[str]:
    path = set()
    while queue:
        path.add(queue)
        queue = parents[queue]
    return path
