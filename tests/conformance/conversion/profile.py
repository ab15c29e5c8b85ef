"""Converts the configuration of a case to a profile."""

from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile
from tenure.solver.search.search import NEVER

from tests.conformance.cases import Json
from tests.conformance.conversion.times import nanoseconds

WITHOUT_LIMIT = 10**9
"""Search budgets of a case are minutes of wall time. In steps, that is in effect no limit."""
UNLISTED_PLUGINS = {"minruntime": {"actions": "reclaim, preempt"}}
"""Arguments that the reference does not have, by plugin, set to its fixed behavior."""


def to_profile(case: Json, speedups: tuple[str, ...] = SPEEDUPS, fill_back: str = NEVER) -> Profile:
    """Return a profile with exactly the plugins of the case, in their order, with their arguments.

    The reference's min-runtime plugin does not protect from consolidation (semantics R7.6).
    """
    loaded = [plugin for tier in case["config"]["tiers"] for plugin in tier if plugin["loaded"]]
    settings = [
        PluginConfig(plugin["name"], {**plugin["arguments"], **UNLISTED_PLUGINS.get(plugin["name"], {})})
        for plugin in loaded
    ]
    if case["config"].get("numa_plugin_loaded"):
        settings.append(PluginConfig("numa"))
    return Profile(
        actions=tuple(case["run"]["actions"]),
        plugins=tuple(settings),
        options=_options(case["config"]["params"], speedups, fill_back),
    )


def _options(params: Json, speedups: tuple[str, ...], fill_back: str) -> CycleOptions:
    return CycleOptions(
        max_consolidation_victims=params["max_consolidation_preemptees"],
        allow_consolidating_reclaim=params["allow_consolidating_reclaim"],
        skip_similar_pod_groups=params["use_scheduling_signatures"],
        allow_same_cycle_eviction=True,
        staleness_grace_period=nanoseconds(params["global_staleness_grace_period_s"]),
        speedups=speedups,
        fill_back=fill_back,
        victim_choice="inOrder",
        max_repacking_looks=0,
        max_simulations_per_pod_group=WITHOUT_LIMIT,
        max_simulations_per_action=WITHOUT_LIMIT,
    )
