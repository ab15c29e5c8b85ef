"""`new` asks for the room of `old`, and what is remembered of the two."""

from dataclasses import replace
from typing import Any

from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.duration import parse_duration
from tenure.solver.model.guard import GuardVerdict
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.registry import default_profile, opened, plugins

GUARD = "evictionmemory"


def profile(*actions: str, **arguments: str) -> Profile:
    """The default profile with these arguments of the guard; after allocate only these actions run."""
    default = default_profile()
    given = PluginSetting(GUARD, arguments)
    settings = tuple(given if setting.name == GUARD else setting for setting in default.plugins)
    return replace(default, actions=("allocate", *actions), plugins=settings)


def index_of(cluster: Cluster, name: str) -> int:
    """The pod group of this name."""
    return next(group.index for group in cluster.pod_groups if group.name == name)


def remembering(
    cluster: Cluster, victim: str, preemptor: str, *, evicted: str, failed: str = "", **fields: Any
) -> Cluster:
    """The cluster with one more memory. Times say how long ago, or with a minus how far ahead."""
    memory = EvictionMemory(
        index_of(cluster, victim),
        index_of(cluster, preemptor),
        cluster.now - ago(evicted),
        last_failure=cluster.now - ago(failed) if failed else None,
        **fields,
    )
    return replace(cluster, eviction_memory=tuple(sorted((*cluster.eviction_memory, memory))))


def ago(text: str) -> int:
    """Nanoseconds of a duration that may have a minus."""
    return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)


def said(cluster: Cluster, action: str = "preempt", **arguments: str) -> GuardVerdict | None:
    """What the guard says about `old` when `new` asks."""
    session = Session.open(cluster, opened(profile(**arguments)), plugins())
    verdicts = session.guards.verdicts(action, index_of(cluster, "new"), index_of(cluster, "old"))
    return next((verdict for verdict in verdicts if verdict.guard == GUARD), None)
