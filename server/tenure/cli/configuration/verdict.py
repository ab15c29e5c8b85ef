"""Errors of a configuration file, and warnings about valid settings whose effect may not be intended."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tenure.process.configuration import ConfigProblem, ConfigurationError, KeyLines
from tenure.server.installed import installed_registry
from tenure.server.placement_cost import describe_placement_cost
from tenure.server.settings import load_settings
from tenure.server.settings.configuration import Configuration, read_configuration
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import SAFETY_PLUGINS

_GENERATORS: Final = ("sg-nodelocalgreedy", "sg-multinodegang")
_REQUEUE: Final = "requeue"
_NOMINATOR: Final = "expectedruntime"


class Finding(NamedTuple):
    """An error or a warning; `line` is None for the whole file."""

    path: str
    line: int | None
    text: str


class Verdict(NamedTuple):
    """Result of a check."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def check_file(file: Path) -> Verdict:
    """Check a file as `tenure serve` does at startup."""
    try:
        profile = load_settings(file).profile
    except ConfigurationError as error:
        return Verdict(tuple(_located(file, error.problems)), ())
    return Verdict((), tuple(_located(file, tuple(_warnings(profile, read_configuration(file))))))


def _located(file: Path, problems: tuple[ConfigProblem, ...]) -> Iterator[Finding]:
    lines: KeyLines | None = None
    for problem in problems:
        if place := re.fullmatch(r"line (\d+), column \d+", problem.path):
            yield Finding("", int(place[1]), problem.text)
        elif not problem.path:
            yield Finding("", None, problem.text)
        else:
            lines = lines or KeyLines(file)
            steps = re.findall(r"[^.\[\]]+", problem.path)
            path = [int(step) if step.isdecimal() else step for step in steps]
            yield Finding(problem.path, lines.nearest_line(path), problem.text)


def _warnings(profile: Profile, configuration: Configuration) -> Iterator[ConfigProblem]:
    plugins = {plugin.name for plugin in profile.plugins}
    for name, effect in SAFETY_PLUGINS.items():
        if name not in plugins:
            path = "allowMissingPlugins" if configuration.tiers else f"plugins.{name}"
            yield ConfigProblem(path, f"{name} is off: {effect}")
    evicting = [name for name in profile.actions if name in installed_registry().guarded.names]
    if evicting and plugins.isdisjoint(_GENERATORS):
        text = f"without {' and '.join(_GENERATORS)}, {', '.join(evicting)} evict nothing"
        yield ConfigProblem("tiers" if configuration.tiers else "plugins", text)
    if cost := describe_placement_cost(profile, installed_registry()):
        yield ConfigProblem("tiers" if configuration.tiers else "plugins", cost)
    if _REQUEUE in profile.actions:
        yield from _requeue_warnings(profile, configuration, plugins)


def _requeue_warnings(
    profile: Profile, configuration: Configuration, plugins: set[str]
) -> Iterator[ConfigProblem]:
    if _NOMINATOR not in plugins:
        yield ConfigProblem("actions", f"{_REQUEUE} evicts nothing, because the plugin {_NOMINATOR} is off")
    elif _configures_requeue(configuration) and not profile.options.default_requeue_delay:
        yield ConfigProblem(
            "options.defaultRequeueDelay",
            "is 0s: a requeue has no cooldown unless the pod group or its queue sets a delay",
        )


def _configures_requeue(configuration: Configuration) -> bool:
    """Whether the file itself has settings of the requeue, other than an explicit delay."""
    options = configuration.options.model_fields_set
    return "default_requeue_delay" not in options and (
        _REQUEUE in (configuration.actions or ())
        or _NOMINATOR in (configuration.plugins or {})
        or any(name.startswith(_REQUEUE) for name in options)
        or "max_requeue_contenders" in options
    )
