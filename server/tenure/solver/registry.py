"""The built-in actions and plugins by the names of the configuration file, and the default profile."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from tenure.solver.actions.allocate import ALLOCATE
from tenure.solver.actions.consolidation import CONSOLIDATION
from tenure.solver.actions.cycle_context import in_cycle
from tenure.solver.actions.eviction_loop import evict_for_pending
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.actions.requeue import REQUEUE
from tenure.solver.actions.stale_gang_eviction import STALE_GANG_EVICTION
from tenure.solver.actions.time_limit import TIME_LIMIT
from tenure.solver.framework.session import Session
from tenure.solver.in_flight.granted import GRANTS
from tenure.solver.in_flight.in_flight_groups import IN_FLIGHT
from tenure.solver.in_flight.notice_groups import NOTICES
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.unusable_gpus import UnusableGpus
from tenure.solver.plugin_api.action import Action, ActionContext, action_names
from tenure.solver.plugin_api.context import PluginFactory
from tenure.solver.plugin_api.profile import SPEEDUPS, PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.plugin_api.step import Step
from tenure.solver.plugins.aging import NAME as AGING
from tenure.solver.plugins.aging import Aging
from tenure.solver.plugins.eviction_cost import EvictionCostPlugin
from tenure.solver.plugins.expected_runtime import ExpectedRuntime
from tenure.solver.plugins.generators import MultiNodeGang, NodeLocalGreedy
from tenure.solver.plugins.gpu_job_order import NAME as GPU_JOB_ORDER
from tenure.solver.plugins.gpu_job_order import GpuJobOrder
from tenure.solver.plugins.guards.eviction_backoff import EvictionBackoffGuard, longest_protection
from tenure.solver.plugins.guards.min_runtime import MinRuntime
from tenure.solver.plugins.guards.preemptibility import PreemptibilityGuard
from tenure.solver.plugins.guards.threshold_guards import EvictionLimit, WaitLimit
from tenure.solver.plugins.guards.timed_guards import NearCompletion, VictimCooldown
from tenure.solver.plugins.nodes import node_scores
from tenure.solver.plugins.nodes.fragmentation import NAME as FRAGMENTATION
from tenure.solver.plugins.nodes.fragmentation import Fragmentation
from tenure.solver.plugins.nodes.numa import Numa
from tenure.solver.plugins.nodes.predicates import DynamicResources, make_predicates
from tenure.solver.plugins.nodes.preferences import make_pod_affinity
from tenure.solver.plugins.nodes.topology import TopologyPlugin
from tenure.solver.plugins.nodes.unusable_gpus import find_unusable_gpus
from tenure.solver.plugins.orders import Elastic, LeaderFirst, MinimumFirstSubGroups, Priority, TaskPriority
from tenure.solver.plugins.proportion.ruled import PROPORTION
from tenure.solver.plugins.shortest import NAME as SHORTEST
from tenure.solver.plugins.shortest import Shortest
from tenure.solver.reservations.end_backfills import END_BACKFILLS
from tenure.solver.reservations.step import RESERVATION
from tenure.solver.result.eviction_history import EVICTION_HISTORY
from tenure.terms.durations import format_duration
from tenure.terms.formatting import known_names_hint

_ACTIONS: Final = (
    *(TIME_LIMIT, ALLOCATE, END_BACKFILLS, CONSOLIDATION, RECLAIM, PREEMPT, REQUEUE),
    STALE_GANG_EVICTION,
)
"""In the order in which they are to run."""
_ON_REQUEST: Final = (END_BACKFILLS, TIME_LIMIT)
"""Not in the default profile."""

_PLUGINS: Final[Mapping[str, PluginFactory]] = {
    "preemptibility": PreemptibilityGuard,
    "predicates": make_predicates,
    "proportion": PROPORTION,
    AGING: Aging,
    "priority": Priority,
    "elastic": Elastic,
    SHORTEST: Shortest,
    "evictioncost": EvictionCostPlugin,
    GPU_JOB_ORDER: GpuJobOrder,
    "kubeflow": LeaderFirst,
    "ray": LeaderFirst,
    "nodeavailability": node_scores.NodeAvailability,
    "gpusharingorder": node_scores.GpuSharingOrder,
    "gpupack": node_scores.GpuPack,
    "gpuspread": node_scores.GpuSpread,
    "resourcetype": node_scores.ResourceType,
    "subgrouporder": MinimumFirstSubGroups,
    "taskorder": TaskPriority,
    "nominatednode": node_scores.NominatedNode,
    "dynamicresources": DynamicResources,
    "nodeplacement": node_scores.NodePlacement,
    FRAGMENTATION: Fragmentation,
    "podaffinity": make_pod_affinity,
    "minruntime": MinRuntime,
    "evictionbackoff": EvictionBackoffGuard,
    "evictionlimit": EvictionLimit,
    "nearcompletion": NearCompletion,
    "waitlimit": WaitLimit,
    "victimcooldown": VictimCooldown,
    "expectedruntime": ExpectedRuntime,
    "reservation": RESERVATION,
    "topology": TopologyPlugin,
    "numa": Numa,
    "sg-nodelocalgreedy": NodeLocalGreedy,
    "sg-multinodegang": MultiNodeGang,
}
BUILT_IN: Final = Registry(actions={action.name: action for action in _ACTIONS}, plugins=_PLUGINS)
"""Names that profiles may use without other packages."""
SERVICE_FEATURES: Final = {
    "snapshot": "every request is a snapshot",
}
"""Plugin names of existing configurations whose work is done outside the solver."""

DEFAULT_ACTIONS: Final = tuple([action.name for action in _ACTIONS if action not in _ON_REQUEST])
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
    "podaffinity",
    "minruntime",
    "evictionbackoff",
    "expectedruntime",
    "topology",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
)
SAFETY_PLUGINS: Final[Mapping[str, str]] = {
    "predicates": "pods start on nodes that their selectors, affinity or tolerations exclude",
    "proportion": "limits and quotas of queues do not apply",
    "priority": "pod groups start regardless of their priority",
    "elastic": "elastic pod groups grow before gangs have their minimum",
    "dynamicresources": "pods use resource claims of other queues",
    "minruntime": "pod groups are evicted within the minimum runtime of their queue",
    "topology": "pods start outside of the topology that their pod group requires",
}
"""Plugins that a profile omits only by intention, and what happens without each."""
ALWAYS_ON: Final = ("preemptibility",)
"""Required plugins: safety does not depend on the configuration."""
_REQUIRED: Final = {name: PluginConfig(name) for name in ALWAYS_ON}


def default_profile() -> Profile:
    """The actions and plugins that reproduce the field's reference scheduler (semantics R2.1, R2.2)."""
    return Profile(DEFAULT_ACTIONS, tuple(PluginConfig(name) for name in DEFAULT_PLUGINS))


def with_required_plugins(profile: Profile) -> Profile:
    """The profile with required plugins first and without service features; itself if nothing changes."""
    named = {setting.name for setting in profile.plugins}
    first, rest = [_REQUIRED[name] for name in ALWAYS_ON if name not in named], profile.plugins
    if not SERVICE_FEATURES.keys().isdisjoint(named):
        rest = tuple([setting for setting in profile.plugins if setting.name not in SERVICE_FEATURES])
    elif not first:
        return profile
    return Profile(profile.actions, (*first, *rest), profile.options)


def unusable_gpus(cluster: Cluster) -> UnusableGpus:
    """What the mix of a cluster cannot use of its free GPUs; takes time in proportion to the cluster."""
    session = Session.open(cluster, Profile((), ()), BUILT_IN)
    return find_unusable_gpus(session.plugin_context())


_ALWAYS_FIRST: Final = (GRANTS, IN_FLIGHT, NOTICES)
_ALWAYS_LAST: Final = (EVICTION_HISTORY,)
"""Steps of every cycle: what was decided before does not depend on the configuration."""


def steps_of(profile: Profile, registry: Registry = BUILT_IN) -> Sequence[Step]:
    """The steps of a cycle: what was decided before, then plugins with a step, then the actions.

    Raises KeyError for unknown actions and plugins.
    """
    return _steps(registry, tuple([each.name for each in profile.plugins]), tuple(profile.actions))


@lru_cache(maxsize=64)
def _steps(registry: Registry, plugins: tuple[str, ...], actions: tuple[str, ...]) -> Sequence[Step]:
    """The steps for names, found once: to look at every plugin would be a twelfth of a small decision."""
    named = [registry.plugins[name] for name in plugins if name not in SERVICE_FEATURES]
    own = [getattr(plugin, "STEP", None) for plugin in named]
    of_actions = [_step_of(registry.actions[name]) for name in actions]
    return (*_ALWAYS_FIRST, *[step for step in own if step is not None], *of_actions, *_ALWAYS_LAST)


def _step_of(action: Action) -> Step:
    """The step that runs an action: by its function, or a search for victims."""
    run_action = action.run or in_cycle(evict_for_pending)

    def run(context: ActionContext) -> None:
        run_action(context, action)

    return Step(action.name, run=run)


def check_profile(profile: Profile, registry: Registry = BUILT_IN) -> list[tuple[str, str]]:
    """Every problem of a profile as (path, message)."""
    problems = []
    for i, action in enumerate(profile.actions):
        if action in registry.failed_actions:
            problems.append((f"actions[{i}]", registry.failed_actions[action]))
        elif action not in registry.actions:
            hint = known_names_hint(action, tuple(registry.actions))
            problems.append((f"actions[{i}]", f"unknown action {action!r}; {hint}"))
    known = registry.plugins
    for i, setting in enumerate(profile.plugins):
        path = f"plugins[{i}]"
        if setting.name in SERVICE_FEATURES:
            continue
        if setting.name in registry.failed_plugins:
            problems.append((f"{path}.name", registry.failed_plugins[setting.name]))
            continue
        if setting.name not in known:
            hint = known_names_hint(setting.name, sorted(known))
            problems.append((f"{path}.name", f"unknown plugin {setting.name!r}; {hint}"))
            continue
        wrong = _check_arguments(path, known[setting.name], setting, registry)
        problems.extend(wrong or _check_retention(profile, setting))
    problems.extend(_check_aging(profile))
    problems.extend(_check_placement(profile))
    problems.extend(_check_speedups(profile))
    problems.extend(_check_rates(profile, registry))
    problems.extend(_check_notice(profile))
    return problems


def _check_aging(profile: Profile) -> list[tuple[str, str]]:
    """Behind priority, the order by priority and wait would only decide between equal priorities."""
    names = [setting.name for setting in profile.plugins]
    if AGING not in names or "priority" not in names[: names.index(AGING)]:
        return []
    return [(f"plugins[{names.index(AGING)}].name", "must precede the plugin priority: list it before")]


def _check_placement(profile: Profile) -> list[tuple[str, str]]:
    """Beside fragmentation, other scores of the same would only disturb it (semantics R3.79)."""
    names = [setting.name for setting in profile.plugins]
    if FRAGMENTATION not in names:
        return []
    return [
        (f"plugins[{place}].name", f"{name} is replaced by {FRAGMENTATION}: use one of them")
        for place, name in enumerate(names)
        if name in ("nodeplacement", "gpusharingorder")
    ]


def _check_rates(profile: Profile, registry: Registry) -> list[tuple[str, str]]:
    """An eviction rate for an action that does not exist would limit nothing."""
    known = tuple(registry.actions)
    return [
        (f"options.evictionRates[{i}].actions", f"unknown action {name!r}; {known_names_hint(name, known)}")
        for i, rate in enumerate(profile.options.eviction_rates)
        for name in rate.actions
        if name not in registry.actions
    ]


def _check_notice(profile: Profile) -> list[tuple[str, str]]:
    """A default notice that is longer than permitted would not be given."""
    default, most = profile.options.default_notice, profile.options.max_notice
    if default <= most:
        return []
    problem = f"{format_duration(default)} is longer than options.maxNotice, which is {format_duration(most)}"
    return [("options.defaultNotice", problem)]


def _check_speedups(profile: Profile) -> list[tuple[str, str]]:
    known = ", ".join(SPEEDUPS)
    return [
        (f"options.speedups[{i}]", f"unknown speedup {name!r}; known: all, none, {known}")
        for i, name in enumerate(profile.options.speedups)
        if name not in SPEEDUPS
    ]


def _check_retention(profile: Profile, setting: PluginConfig) -> list[tuple[str, str]]:
    """Eviction records must be kept as long as they may protect a pod group."""
    retention = profile.options.eviction_history_retention
    if setting.name != "evictionbackoff" or retention >= (longest := longest_protection(setting.arguments)):
        return []
    needed = f"evictionbackoff protects for up to {format_duration(longest)}: use that or more"
    return [("options.evictionHistoryRetention", f"{format_duration(retention)} is too short; {needed}")]


def _check_arguments(
    path: str, plugin: PluginFactory, setting: PluginConfig, registry: Registry
) -> list[tuple[str, str]]:
    parsers = getattr(plugin, "ARGUMENTS", {})
    problems = []
    for name, text in setting.arguments.items():
        where = f"{path}.arguments.{name}"
        if name not in parsers:
            known = ", ".join(parsers) or "none"
            problems.append((where, f"plugin {setting.name} has no argument {name!r}; known: {known}"))
            continue
        try:
            parser = parsers[name]
            if parser is action_names:
                registry.guarded.parse(text)
            else:
                parser(text)
        except ValueError as error:
            problems.append((where, str(error)))
    return problems
