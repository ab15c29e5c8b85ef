"""Every setting in force with its source: the configuration file, the environment, or a default."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tenure.cli.configuration.listing import Setting, SettingPath
from tenure.process.configuration import KeyLines
from tenure.server.installed import installed_registry
from tenure.server.memory import memory_limit
from tenure.server.records.file import default_path
from tenure.server.settings import load_settings
from tenure.server.settings.configuration import Configuration, read_configuration
from tenure.server.settings.plugins import by_place
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import ALWAYS_ON

_SECTIONS: Final = ("options", "server", "records", "telemetry")
_VARIABLES: Final[Mapping[SettingPath, str]] = {
    ("telemetry", "otlpEndpoint"): "OTEL_EXPORTER_OTLP_ENDPOINT",
    ("telemetry", "sampleRatio"): "OTEL_TRACES_SAMPLER",
    ("telemetry", "metricsInterval"): "OTEL_METRIC_EXPORT_INTERVAL",
}
"""Variables of OpenTelemetry that apply without a setting in the file."""
_NO_COOLDOWN: Final = "a requeue has no cooldown unless the pod group or its queue sets a delay"


def list_settings(file: Path | None, environment: Mapping[str, str]) -> list[Setting]:
    """Settings in the order of the configuration page. Raises ConfigurationError."""
    profile = load_settings(file).profile
    configuration = Configuration() if file is None else read_configuration(file)
    lines = KeyLines(file)
    found = [Setting(("actions",), ", ".join(profile.actions)), *_plugins(configuration, profile)]
    sections = configuration.model_dump(mode="json", by_alias=True)
    for name in _SECTIONS:
        found += _flatten((name,), sections[name])
    return [_with_source(setting, lines, environment) for setting in found]


def _flatten(path: SettingPath, value: Any) -> Iterator[Setting]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _flatten((*path, key), child)
    else:
        yield Setting(path, _without_unset(value) if isinstance(value, list) else value)


def _without_unset(items: list[Any]) -> list[Any]:
    return [
        {key: value for key, value in item.items() if value is not None} if isinstance(item, dict) else item
        for item in items
    ]


def _with_source(setting: Setting, lines: KeyLines, environment: Mapping[str, str]) -> Setting:
    path = setting.path
    if path == ("options", "defaultRequeueDelay") and setting.value == "0s":
        setting = setting._replace(note=_NO_COOLDOWN)
    if line := lines.line(path):
        return setting._replace(line=line)
    variable = _VARIABLES.get(path)
    if setting.value is None and variable and environment.get(variable, "").strip():
        return setting._replace(value=environment[variable].strip(), variable=variable)
    if path == ("records", "path"):
        named = "XDG_STATE_HOME" if environment.get("XDG_STATE_HOME") else None
        return setting._replace(value=str(default_path()), variable=named)
    if path == ("server", "maxMemoryMib"):
        return setting._replace(value=memory_limit() >> 20, note="of the container, else of the machine")
    return setting


def _plugins(configuration: Configuration, profile: Profile) -> Iterator[Setting]:
    if configuration.tiers is None:
        yield from _default_list(profile)
        return
    for t, tier in enumerate(configuration.tiers):
        for p, plugin in enumerate(tier.plugins):
            path = ("tiers", t, "plugins", p)
            yield Setting((*path, "name"), plugin.name)
            for name, value in _arguments(PluginConfig(plugin.name, plugin.arguments)).items():
                yield Setting((*path, "arguments", name), value)
    yield Setting(("allowMissingPlugins",), configuration.allow_missing_plugins)


def _default_list(profile: Profile) -> Iterator[Setting]:
    """The default list with its changes, as the section `plugins`."""
    enabled = {plugin.name: plugin for plugin in profile.plugins}
    for name in by_place({**installed_registry().plugins, **enabled}):
        arguments = _arguments(enabled[name]) if name in enabled else {}
        if arguments:
            for argument, value in arguments.items():
                yield Setting(("plugins", name, argument), value)
        else:
            yield Setting(("plugins", name), name in enabled or name in ALWAYS_ON)


def _arguments(plugin: PluginConfig) -> dict[str, str]:
    """All arguments of a plugin: as configured, else as the plugin declares its defaults."""
    registry = installed_registry()
    factory = registry.plugins.get(plugin.name)
    defaults = dict(getattr(factory, "DEFAULTS", {}))
    if "actions" in getattr(factory, "ARGUMENTS", {}):
        defaults.setdefault("actions", ", ".join(registry.guarded.names))
    return {**defaults, **plugin.arguments}
