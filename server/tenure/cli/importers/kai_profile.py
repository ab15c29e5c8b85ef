"""Convert configuration and parameters of KAI-Scheduler to a configuration file."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import yaml
from tenure.server.installed import installed_registry
from tenure.solver.plugin_api.profile import CycleOptions, PluginConfig, Profile
from tenure.solver.registry import SAFETY_PLUGINS, check_profile
from tenure.terms.durations import format_duration

_GENERATORS = ("sg-nodelocalgreedy", "sg-multinodegang")
"""Versions of KAI without these plugins choose victims without a plugin; Tenure needs one for that."""


class PluginOption(Protocol):
    """A plugin of the scheduler configuration."""

    name: str
    arguments: dict[str, str] | None


class Tier(Protocol):
    """A list of plugins."""

    @property
    def plugins(self) -> Sequence[PluginOption] | None:
        """Plugins in order."""


class Config(Protocol):
    """Scheduler configuration."""

    actions: str

    @property
    def tiers(self) -> Sequence[Tier] | None:
        """Tiers in order."""


class SchedulerParams(Protocol):
    """Command line of the scheduler. Times in nanoseconds."""

    max_number_consolidation_preemptees: int
    use_scheduling_signatures: bool
    allow_consolidating_reclaim: bool
    global_default_staleness_grace_period: int


class KaiSettings(Protocol):
    """Result of a reader of KAI snapshots, beside the snapshot."""

    @property
    def config(self) -> Config | None:
        """Configuration; None: defaults."""

    @property
    def scheduler_params(self) -> SchedulerParams:
        """Command-line parameters."""


class ImportedProfile(NamedTuple):
    """Configuration file, and settings without an equivalent."""

    text: str
    unsupported: list[str]
    missing: list[str]
    """Plugins that safety needs and that the source does not list."""


def import_profile(source: KaiSettings) -> ImportedProfile:
    """Actions, plugins and options in the format of `docs/reference/configuration.md`.

    Settings that Tenure rejects are dropped and reported. Plugins that KAI runs without stay off.
    """
    document: dict[str, Any] = {}
    left_out: list[str] = []
    if source.config is not None:
        document = _known(source.config, left_out)
    document["options"] = _options(source.scheduler_params)
    missing = document.get("allowMissingPlugins", [])
    return ImportedProfile(yaml.safe_dump(document, sort_keys=False), left_out, missing)


def _known(config: Config, left_out: list[str]) -> dict[str, Any]:
    """Actions and plugins that Tenure accepts."""
    document: dict[str, Any] = {}
    actions = []
    for name in filter(None, map(str.strip, config.actions.split(","))):
        problems = check_profile(Profile((name,), (), CycleOptions()), installed_registry())
        left_out.extend(f"action {name}: {text}" for _, text in problems)
        if not problems:
            actions.append(name)
    if actions:
        document["actions"] = ", ".join(actions)
    plugins: dict[str, dict[str, Any]] = {}
    for tier in config.tiers or []:
        for option in tier.plugins or []:
            arguments = _known_plugin(option.name, option.arguments or {}, left_out)
            if arguments is not None and option.name not in plugins:
                plugins[option.name] = {
                    "name": option.name,
                    **({"arguments": arguments} if arguments else {}),
                }
    if plugins:
        if plugins.keys().isdisjoint(_GENERATORS):
            plugins.update({name: {"name": name} for name in _GENERATORS})
        document["tiers"] = [{"plugins": list(plugins.values())}]
        if missing := [name for name in SAFETY_PLUGINS if name not in plugins]:
            document["allowMissingPlugins"] = missing
    return document


def _known_plugin(name: str, arguments: dict[str, str], left_out: list[str]) -> dict[str, str] | None:
    """Accepted arguments; None if the plugin does not exist."""
    if problem := _unsupported_reason(name, {}):
        left_out.append(f"plugin {name}: {problem}")
        return None
    known = {}
    for key, value in arguments.items():
        if problem := _unsupported_reason(name, {key: value}):
            left_out.append(f"plugin {name}, argument {key}: {problem}")
        else:
            known[key] = value
    return known


def _unsupported_reason(name: str, arguments: dict[str, str]) -> str:
    """Problem of a plugin with these arguments; empty if accepted."""
    problems = check_profile(
        Profile((), (PluginConfig(name, arguments),), CycleOptions()), installed_registry()
    )
    return problems[0][1] if problems else ""


def _options(params: SchedulerParams) -> dict[str, Any]:
    """Parameters that are cycle options. Unset numbers keep the default of Tenure."""
    grace = params.global_default_staleness_grace_period
    options: dict[str, Any] = {
        "allowConsolidatingReclaim": params.allow_consolidating_reclaim,
        "skipSimilarPodGroups": params.use_scheduling_signatures,
    }
    if params.max_number_consolidation_preemptees:
        options["maxConsolidationVictims"] = max(params.max_number_consolidation_preemptees, -1)
    if grace:
        options["stalenessGracePeriod"] = "never" if grace < 0 else format_duration(grace)
    return options
