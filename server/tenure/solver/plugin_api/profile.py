"""A profile: which actions run, in which order, with which plugins and arguments."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from tenure.solver.model.disruption_limits import EvictionRate
from tenure.terms.durations import SECOND

Parsers = Mapping[str, Callable[[str], object]]
"""What reads each argument of a plugin; a ValueError refuses the configuration."""

SPEEDUPS: Final = (
    "node_index",
    "pod_group_index",
    "simulation_order",
    "candidate_sharing",
    "failed_search_cache",
    "first_victim",
    "reclaim_bound",
    "pruning",
    "kept_plans",
)
"""Names of what saves time and can be switched off: modules in `search/speedups`, and `Planner.keep`."""


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """One plugin of a profile and its arguments, as text, by the names of the configuration file."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class CycleOptions:
    """Settings of the cycle itself (semantics R2.4); amounts of -1 mean no limit."""

    max_consolidation_victims: int = 16
    """Pod groups that one consolidation may move; 0 switches the action off."""
    allow_consolidating_reclaim: bool = True
    """Whether a victim that is placed elsewhere does not count against its queue (semantics R4.51)."""
    skip_similar_pod_groups: bool = True
    """Whether a pod group is skipped when an easier one of its queue just failed (semantics R5.80)."""
    allow_same_cycle_eviction: bool = False
    """Whether a later action may evict tasks that an earlier one placed in the same cycle. The reference
    scheduler does; the evictions for the first beneficiary are then without use.
    """
    staleness_grace_period: int = 60 * SECOND
    """Nanoseconds a gang may run below its minimum; negative: for ever (semantics R6.40)."""
    speedups: tuple[str, ...] = SPEEDUPS
    """Parts of the search that save time and change no decision; those that are not listed are off."""
    requeue_order: str = "priority"
    """Which of the nominated goes first: `priority`, the least important, or `overrun`, the most overdue
    (semantics R12.40).
    """
    requeue_strict: bool = False
    """Whether a requeue must also be fair as a reclaim or preemption must (semantics R12.42)."""
    default_requeue_delay: int = 0
    """Default nanoseconds after a requeue in which a pod group is not requeued again (semantics R12.44)."""
    max_requeue_contenders: int = 16
    """Pod groups that are tried in the place of one nominated (semantics R12.67)."""
    eviction_history_retention: int = 24 * 3_600 * SECOND
    """Nanoseconds after which a pair is forgotten between which nothing happened. No shorter than what
    the plugin evictionbackoff looks back to: `registry.check_profile` refuses that.
    """
    decision_group_timeout: int = 300 * SECOND
    """Nanoseconds until what is not done of a group of decisions is to be left."""
    max_notice: int = 0
    """Longest nanoseconds of notice before an eviction; 0 switches notices off (semantics R16.1)."""
    default_notice: int = 0
    """Nanoseconds of notice of pod groups for which neither they nor a queue set one (semantics R16.1)."""
    notice_cooldown: int = 300 * SECOND
    """Nanoseconds after a notice that was withdrawn in which the pod group is given no other (R16.7)."""
    fill_back: str = "full"
    """Whether victims that need not yield are given back: `never`, where they were in one pass (`inPlace`),
    or also by simulations without each of them (`full`) (semantics R14.2, R14.4).
    """
    max_fill_back_simulations: int = 64
    """Simulations without one of the victims for each solution."""
    eviction_rates: tuple[EvictionRate, ...] = ()
    """Token buckets that limit how fast pods are disrupted (semantics R15.7)."""
    max_disrupted_per_cycle: int = -1
    max_disrupted_per_pod_group: int = -1
    """Pods that are evicted or moved for one beneficiary in a cycle (semantics R15.10)."""
    max_moved_gpus_per_gpu: int = -1
    """GPUs that may restart on other nodes for each GPU that a pod group requests (semantics R15.14)."""
    budget_patience: int = -1
    """Nanoseconds for which disruption budgets hold against a pod group that waits for what it may reclaim;
    negative: for ever (semantics R15.13).
    """
    victim_choice: str = "least"
    """Whether sets of victims by need compete with the first one in victim order (`least`), or do not
    (`inOrder`) (semantics R14.18).
    """
    victim_alternatives: int = 1
    """Sets of victims that are compared for each solution: the first ones that suffice (semantics R14.8)."""
    max_repacking_looks: int = 20_000
    """Looks at nodes in a cycle to find other nodes for pods that it binds, so that one more pod group
    starts; 0: pods stay on the first nodes that take them (semantics R3.36).
    """
    max_simulations_per_pod_group: int = 10_000
    """Scenarios the search simulates for one pod group before it gives up."""
    max_simulations_per_action: int = 100_000
    """Scenarios one action simulates before it stops."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything about a cycle that is not in the cluster."""

    actions: tuple[str, ...]
    plugins: tuple[PluginConfig, ...]
    options: CycleOptions = CycleOptions()


def profile_digest(profile: Profile) -> str:
    """The first 16 hex digits of the SHA-256 over actions, plugins with arguments, and options.

    The order of actions and plugins counts, since it changes decisions; that of arguments does not.
    """
    return sha256(profile_text(profile).encode()).hexdigest()[:16]


def profile_text(profile: Profile) -> str:
    """All of a profile as JSON; equal profiles give equal texts."""
    content = {
        "actions": profile.actions,
        "plugins": [[plugin.name, sorted(plugin.arguments.items())] for plugin in profile.plugins],
        "options": asdict(profile.options),
    }
    return json.dumps(content, sort_keys=True)


def profile_of(text: str) -> Profile:
    """The profile of such a text. Raises ValueError if it is none, or has unknown options or speedups.

    `check_profile` checks actions and plugins.
    """
    try:
        content = json.loads(text)
        plugins = tuple(PluginConfig(name, dict(arguments)) for name, arguments in content["plugins"])
        given = content["options"]
        if unknown := sorted(given.keys() - {each.name for each in fields(CycleOptions)}):
            raise ValueError(f"has options of a newer version of Tenure: {', '.join(unknown)}")
        if newer := [name for name in given["speedups"] if name not in SPEEDUPS]:
            raise ValueError(f"has options of a newer version of Tenure: speedups {', '.join(newer)}")
        rates = tuple([_rate_of(rate) for rate in given.get("eviction_rates", ())])
        options = CycleOptions(**{**given, "speedups": tuple(given["speedups"]), "eviction_rates": rates})
        return Profile(tuple(content["actions"]), plugins, options)
    except (TypeError, KeyError) as error:
        raise ValueError(f"is not a profile of this version: {error}") from None


def _rate_of(values: Sequence[Any]) -> EvictionRate:
    """A rate from the list of its values. Compiled code takes no list where a tuple is declared."""
    given: list[Any] = [tuple(value) if isinstance(value, list) else value for value in values]
    return EvictionRate(*given)
