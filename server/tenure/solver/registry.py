"""The built-in actions and plugins by the names of the configuration file, and the default profile."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Final

from tenure.solver.actions.allocate import allocate
from tenure.solver.actions.consolidation import consolidation
from tenure.solver.actions.context import Action
from tenure.solver.actions.preempt import preempt
from tenure.solver.actions.reclaim import reclaim
from tenure.solver.actions.requeue import requeue
from tenure.solver.actions.stalegangeviction import stalegangeviction
from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.framework.session import PluginFactory
from tenure.solver.model.duration import format_duration
from tenure.solver.plugins import nodescores
from tenure.solver.plugins.dynamicresources import DynamicResources
from tenure.solver.plugins.elastic import Elastic
from tenure.solver.plugins.evictionlimit import EvictionLimit
from tenure.solver.plugins.evictionmemory import EvictionMemoryGuard, longest_protection
from tenure.solver.plugins.expectedruntime import ExpectedRuntime
from tenure.solver.plugins.minruntime import MinRuntime
from tenure.solver.plugins.multinodegang import MultiNodeGang
from tenure.solver.plugins.nearend import NearEnd
from tenure.solver.plugins.nodelocalgreedy import NodeLocalGreedy
from tenure.solver.plugins.numa import Numa
from tenure.solver.plugins.predicates import Predicates
from tenure.solver.plugins.preemptibility import Preemptibility
from tenure.solver.plugins.priority import Priority
from tenure.solver.plugins.proportion import Proportion
from tenure.solver.plugins.subgrouporder import SubGroupOrder
from tenure.solver.plugins.taskorder import LeaderFirst, TaskPriority
from tenure.solver.plugins.topology import Topology
from tenure.solver.plugins.waitlimit import WaitLimit

ACTIONS: Final[Mapping[str, Action]] = {
    "allocate": allocate,
    "consolidation": consolidation,
    "reclaim": reclaim,
    "preempt": preempt,
    "requeue": requeue,
    "stalegangeviction": stalegangeviction,
}
ACTION_NAMES: Final = tuple(ACTIONS)

_BUILT_IN: Final[Mapping[str, PluginFactory]] = {
    "preemptibility": Preemptibility,
    "predicates": Predicates,
    "proportion": Proportion,
    "priority": Priority,
    "elastic": Elastic,
    "kubeflow": LeaderFirst,
    "ray": LeaderFirst,
    "nodeavailability": nodescores.NodeAvailability,
    "gpusharingorder": nodescores.GpuSharingOrder,
    "gpupack": nodescores.GpuPack,
    "gpuspread": nodescores.GpuSpread,
    "resourcetype": nodescores.ResourceType,
    "subgrouporder": SubGroupOrder,
    "taskorder": TaskPriority,
    "nominatednode": nodescores.NominatedNode,
    "dynamicresources": DynamicResources,
    "nodeplacement": nodescores.NodePlacement,
    "minruntime": MinRuntime,
    "evictionmemory": EvictionMemoryGuard,
    "evictionlimit": EvictionLimit,
    "nearend": NearEnd,
    "waitlimit": WaitLimit,
    "expectedruntime": ExpectedRuntime,
    "topology": Topology,
    "numa": Numa,
    "sg-nodelocalgreedy": NodeLocalGreedy,
    "sg-multinodegang": MultiNodeGang,
}
SERVICE_FEATURES: Final = {
    "snapshot": "every request is a snapshot",
}
"""Plugin names of existing configurations whose work is done outside the solver: nothing to open."""

DEFAULT_PLUGINS: Final = (
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "kubeflow",
    "ray",
    "nodeavailability",
    "gpusharingorder",
    "gpupack",
    "resourcetype",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "nodeplacement",
    "minruntime",
    "evictionmemory",
    "expectedruntime",
    "topology",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
)
ALWAYS_ON: Final = ("preemptibility",)
"""Safety does not depend on the configuration: opened first, listed or not."""


@cache
def plugins() -> Mapping[str, PluginFactory]:
    """All plugins by name: the built-in ones and those of the entry-point group `tenure.plugins`.

    Installed packages are looked through once per process, not in every cycle.
    """
    found = {point.name: point.load() for point in entry_points(group="tenure.plugins")}
    return {**found, **_BUILT_IN}


def default_profile() -> Profile:
    """The actions and plugins that reproduce the field's reference scheduler (semantics R2.1, R2.2)."""
    return Profile(ACTION_NAMES, tuple(PluginSetting(name) for name in DEFAULT_PLUGINS))


def opened(profile: Profile) -> Profile:
    """The profile as a session opens it: what is always on first, service features left out. One that is so
    already is returned itself.
    """
    named = [setting.name for setting in profile.plugins]
    first = tuple([PluginSetting(name) for name in ALWAYS_ON if name not in named])
    if not first and SERVICE_FEATURES.keys().isdisjoint(named):
        return profile
    rest = tuple(setting for setting in profile.plugins if setting.name not in SERVICE_FEATURES)
    return Profile(profile.actions, first + rest, profile.options)


def check_profile(profile: Profile) -> list[tuple[str, str]]:
    """Every problem of a profile as (path, what is wrong and what to write instead)."""
    problems = []
    for i, action in enumerate(profile.actions):
        if action not in ACTIONS:
            problems.append((f"actions[{i}]", f"unknown action {action!r}; known: {', '.join(ACTIONS)}"))
    known = plugins()
    for i, setting in enumerate(profile.plugins):
        path = f"plugins[{i}]"
        if setting.name in SERVICE_FEATURES:
            continue
        if setting.name not in known:
            names = ", ".join(sorted({*known, *SERVICE_FEATURES}))
            problems.append((f"{path}.name", f"unknown plugin {setting.name!r}; known: {names}"))
            continue
        wrong = _check_arguments(path, known[setting.name], setting)
        problems.extend(wrong or _check_retention(profile, setting))
    return problems


def _check_retention(profile: Profile, setting: PluginSetting) -> list[tuple[str, str]]:
    """Nothing may be forgotten that would still protect somebody."""
    retention = profile.options.eviction_memory_retention
    if setting.name != "evictionmemory" or retention >= (longest := longest_protection(setting.arguments)):
        return []
    needed = f"evictionmemory protects for up to {format_duration(longest)}: use that or more"
    return [("options.evictionMemoryRetention", f"{format_duration(retention)} is too short; {needed}")]


def _check_arguments(path: str, plugin: PluginFactory, setting: PluginSetting) -> list[tuple[str, str]]:
    parsers = getattr(plugin, "ARGUMENTS", {})
    problems = []
    for name, text in setting.arguments.items():
        where = f"{path}.arguments.{name}"
        if name not in parsers:
            known = ", ".join(parsers) or "none"
            problems.append((where, f"plugin {setting.name} has no argument {name!r}; known: {known}"))
            continue
        try:
            parsers[name](text)
        except ValueError as error:
            problems.append((where, str(error)))
    return problems
