"""From a configuration file to a profile and the server's limits."""

from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError
from tenure.server.settings.document import read_document
from tenure.server.settings.faults import Sections, problems_of
from tenure.server.settings.models import Configuration, CycleOptions, Plugin, Tier
from tenure.server.settings.problems import ConfigurationError, Problem
from tenure.server.settings.records import RecordSettings
from tenure.server.settings.server import MaxRows, Security, ServerLimits, ServerSection
from tenure.server.settings.telemetry import Logs, TelemetrySection
from tenure.solver.framework.profile import Options, PluginSetting, Profile
from tenure.solver.registry import check_profile, default_profile

_SECTIONS: Final[Sections] = {
    (): Configuration,
    ("tiers",): Tier,
    ("tiers", "plugins"): Plugin,
    ("options",): CycleOptions,
    ("server",): ServerSection,
    ("server", "maxRows"): MaxRows,
    ("records",): RecordSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class Settings(NamedTuple):
    """What a configuration file says."""

    profile: Profile
    limits: ServerLimits = ServerLimits()
    security: Security = Security()
    telemetry: TelemetrySection = TelemetrySection()
    records: RecordSettings = RecordSettings()


def load_settings(file: Path | None) -> Settings:
    """The settings of a file, or the embedded defaults without one.

    Raises ConfigurationError with every fault: syntax, unknown keys, plugins, arguments and actions, and
    values that do not parse. A profile that is returned can be used.
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
        raise ConfigurationError(str(file), [Problem("", "must be a mapping with keys such as `actions`")])
    try:
        return Configuration.model_validate(document or {})
    except ValidationError as error:
        raise ConfigurationError(str(file), problems_of(error, _SECTIONS)) from None


def _profile(configuration: Configuration) -> Profile:
    default = default_profile()
    actions, tiers = configuration.actions, configuration.tiers
    return Profile(
        actions=default.actions if actions is None else tuple(actions),
        plugins=default.plugins
        if tiers is None
        else tuple(PluginSetting(p.name, dict(p.arguments)) for tier in tiers for p in tier.plugins),
        options=Options(**configuration.options.model_dump()),
    )


def _profile_problems(configuration: Configuration, profile: Profile) -> list[Problem]:
    """What the solver has to say about the profile, with the paths of the file."""
    tiers = configuration.tiers or []
    paths = [f"tiers[{t}].plugins[{p}]" for t, tier in enumerate(tiers) for p in range(len(tier.plugins))]
    problems = [Problem(_in_file(path, paths), text) for path, text in check_profile(profile)]
    first = {plugin.name: at for at, plugin in reversed(list(enumerate(profile.plugins)))}
    for path, plugin in zip(paths, profile.plugins, strict=False):
        if (earlier := paths[first[plugin.name]]) != path:
            problems.append(Problem(f"{path}.name", f"plugin {plugin.name} is already listed at {earlier}"))
    return problems


def _in_file(path: str, plugin_paths: list[str]) -> str:
    """The path in the file of a path in the profile, whose plugins are one list (`plugins[3].name`)."""
    if not path.startswith("plugins["):
        return path
    position, _, rest = path.removeprefix("plugins[").partition("]")
    return f"{plugin_paths[int(position)]}{rest}"
