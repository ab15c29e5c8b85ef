"""Format of the configuration file, and its conversion to a profile and the server's limits.

`actions` and `tiers` have the format of KAI's scheduler configuration; the other sections are Tenure's. All
keys are optional; defaults are those of the default profile.

    actions: "allocate, reclaim"
    tiers:
    - plugins:
      - name: minruntime
        arguments: {defaultReclaimMinRuntime: 10m}
    options:
      stalenessGracePeriod: 2m
    server:
      maxQueuedCalls: 16
"""

from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError
from tenure.process.configuration import (
    ConfigProblem,
    ConfigurationError,
    Sections,
    find_problems,
    read_document,
)
from tenure.process.values import (
    AtLeastOne,
    ConfigSection,
    Duration,
    DurationOrNever,
    Logs,
    PositiveDuration,
    TelemetrySection,
    parse_empty_section,
)
from tenure.server.installed import installed_registry
from tenure.server.settings.server import (
    JwtIssuer,
    MaxRows,
    RecordSettings,
    Security,
    ServerLimits,
    ServerSection,
)
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile
from tenure.solver.registry import check_profile, default_profile

_DEFAULTS = CycleOptions()


def _names(value: object) -> object:
    """Split a comma-separated text to names; lists pass unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _speedups(value: object) -> object:
    """`all`, `none`, or names as in `_names`, which `check_profile` compares with the known ones."""
    names = _names(value)
    if names == ["all"]:
        return SPEEDUPS
    return () if names == ["none"] else names


class Plugin(ConfigSection):
    """One plugin and its arguments, as text."""

    name: str
    arguments: Annotated[dict[str, str], BeforeValidator(parse_empty_section)] = {}


class Tier(ConfigSection):
    """A list of plugins. All tiers are concatenated; tier boundaries have no meaning."""

    plugins: list[Plugin]


class OptionsSection(ConfigSection):
    """Options of the cycle, described at `tenure.solver.plugin_api.profile.Options`."""

    max_consolidation_victims: Annotated[int, Field(ge=-1)] = _DEFAULTS.max_consolidation_victims
    allow_consolidating_reclaim: bool = _DEFAULTS.allow_consolidating_reclaim
    skip_similar_pod_groups: bool = _DEFAULTS.skip_similar_pod_groups
    allow_same_cycle_eviction: bool = _DEFAULTS.allow_same_cycle_eviction
    staleness_grace_period: DurationOrNever = _DEFAULTS.staleness_grace_period
    speedups: Annotated[tuple[str, ...], BeforeValidator(_speedups)] = _DEFAULTS.speedups
    requeue_order: Literal["priority", "overrun"] = "priority"
    requeue_strict: bool = _DEFAULTS.requeue_strict
    default_requeue_delay: Duration = _DEFAULTS.default_requeue_delay
    max_requeue_contenders: AtLeastOne = _DEFAULTS.max_requeue_contenders
    eviction_history_retention: Duration = _DEFAULTS.eviction_history_retention
    decision_group_timeout: PositiveDuration = _DEFAULTS.decision_group_timeout
    max_simulations_per_pod_group: AtLeastOne = _DEFAULTS.max_simulations_per_pod_group
    max_simulations_per_action: AtLeastOne = _DEFAULTS.max_simulations_per_action


class Configuration(ConfigSection):
    """The configuration file."""

    actions: Annotated[list[str], BeforeValidator(_names), Field(min_length=1)] | None = None
    tiers: Annotated[list[Tier], Field(min_length=1)] | None = None
    options: Annotated[OptionsSection, BeforeValidator(parse_empty_section)] = OptionsSection()
    server: Annotated[ServerSection, BeforeValidator(parse_empty_section)] = ServerSection()
    records: Annotated[RecordSettings, BeforeValidator(parse_empty_section)] = RecordSettings()
    telemetry: Annotated[TelemetrySection, BeforeValidator(parse_empty_section)] = TelemetrySection()


_SECTIONS: Final[Sections] = {
    (): Configuration,
    ("tiers",): Tier,
    ("tiers", "plugins"): Plugin,
    ("options",): OptionsSection,
    ("server",): ServerSection,
    ("server", "maxRows"): MaxRows,
    ("server", "jwtIssuers"): JwtIssuer,
    ("records",): RecordSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class Settings(NamedTuple):
    """Contents of a configuration file."""

    profile: Profile
    limits: ServerLimits = ServerLimits()
    security: Security = Security()
    telemetry: TelemetrySection = TelemetrySection()
    records: RecordSettings = RecordSettings()


def load_settings(file: Path | None) -> Settings:
    """Load the settings of a file, or the embedded defaults without one.

    Raises ConfigurationError with every error: syntax, unknown keys, plugins, arguments and actions, and
    invalid values. A returned profile is usable.
    """
    if file is None:
        return Settings(default_profile())
    configuration = _validated(file, read_document(file))
    profile = _profile(configuration)
    problems = _profile_problems(configuration, profile)
    if problems:
        raise ConfigurationError(str(file), problems)
    server = configuration.server
    return Settings(
        profile, server.limits(), server.security(), configuration.telemetry, configuration.records
    )


def _validated(file: Path, document: object) -> Configuration:
    if not isinstance(document, dict | None):
        raise ConfigurationError(
            str(file), [ConfigProblem("", "must be a mapping with keys such as `actions`")]
        )
    try:
        return Configuration.model_validate(document or {})
    except ValidationError as error:
        raise ConfigurationError(str(file), find_problems(error, _SECTIONS)) from None


def _profile(configuration: Configuration) -> Profile:
    default = default_profile()
    actions, tiers = configuration.actions, configuration.tiers
    return Profile(
        actions=default.actions if actions is None else tuple(actions),
        plugins=default.plugins
        if tiers is None
        else tuple(PluginConfig(p.name, dict(p.arguments)) for tier in tiers for p in tier.plugins),
        options=CycleOptions(**configuration.options.model_dump()),
    )


def _profile_problems(configuration: Configuration, profile: Profile) -> list[ConfigProblem]:
    """Errors that the solver reports for the profile, with paths in the file."""
    tiers = configuration.tiers or []
    paths = [f"tiers[{t}].plugins[{p}]" for t, tier in enumerate(tiers) for p in range(len(tier.plugins))]
    problems = [
        ConfigProblem(_in_file(path, paths), text)
        for path, text in check_profile(profile, installed_registry())
    ]
    first = {plugin.name: at for at, plugin in reversed(list(enumerate(profile.plugins)))}
    for path, plugin in zip(paths, profile.plugins, strict=False):
        if (earlier := paths[first[plugin.name]]) != path:
            problems.append(
                ConfigProblem(f"{path}.name", f"plugin {plugin.name} is already listed at {earlier}")
            )
    return problems


def _in_file(path: str, plugin_paths: list[str]) -> str:
    """Path in the file for a path in the profile, whose plugins are one list (`plugins[3].name`)."""
    if not path.startswith("plugins["):
        return path
    position, _, rest = path.removeprefix("plugins[").partition("]")
    return f"{plugin_paths[int(position)]}{rest}"
