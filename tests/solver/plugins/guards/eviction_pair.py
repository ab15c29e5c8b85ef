"""Clusters in which `new` needs the capacity of `old`, with eviction records of the pair."""

from dataclasses import replace
from typing import Any

from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.terms.durations import parse_duration

GUARD = "evictionbackoff"


def profile(*actions: str, **arguments: str) -> Profile:
    """The default profile with these arguments of the guard. Only these actions run after allocate."""
    default = default_profile()
    given = PluginConfig(GUARD, arguments)
    settings = tuple(given if setting.name == GUARD else setting for setting in default.plugins)
    return replace(default, actions=("allocate", *actions), plugins=settings)


def index_of(cluster: Cluster, name: str) -> int:
    """Index of the pod group with this name."""
    return next(group.index for group in cluster.pod_groups if group.facts.name == name)


def with_eviction_record(
    cluster: Cluster, victim: str, preemptor: str, *, evicted: str, failed: str = "", **fields: Any
) -> Cluster:
    """Add an eviction record to the cluster. Times are ages; negative ones are in the future."""
    memory = EvictionRecord(
        index_of(cluster, victim),
        index_of(cluster, preemptor),
        cluster.now - relative_time(evicted),
        last_failure=cluster.now - relative_time(failed) if failed else None,
        **fields,
    )
    return replace(cluster, eviction_history=tuple(sorted((*cluster.eviction_history, memory))))


def relative_time(text: str) -> int:
    """Nanoseconds of a duration that may be negative."""
    return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)


def guard_verdict(cluster: Cluster, action: str = "preempt", **arguments: str) -> GuardVerdict | None:
    """Verdict of the guard about `old` for the preemptor `new`."""
    session = Session.open(cluster, with_required_plugins(profile(**arguments)), BUILT_IN)
    verdicts = session.guards.verdicts(
        BUILT_IN.actions[action], index_of(cluster, "new"), index_of(cluster, "old")
    )
    return next((verdict for verdict in verdicts if verdict.guard == GUARD), None)
