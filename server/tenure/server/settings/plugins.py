"""Plugins in the configuration file: `tiers`, a complete list, or `plugins`, changes of the default list.

A complete list without a plugin that safety needs is an error, unless `allowMissingPlugins` names the plugin.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, TypeAdapter, ValidationError
from tenure.process.configuration import ConfigProblem
from tenure.process.values import ConfigSection, parse_empty_section
from tenure.server.installed import installed_registry
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import (
    ALWAYS_ON,
    BUILT_IN,
    DEFAULT_PLUGINS,
    SAFETY_PLUGINS,
    SERVICE_FEATURES,
    default_profile,
)
from tenure.terms.formatting import known_names_hint

_BOOLEAN: Final = TypeAdapter(bool)
_PLACES: Final = {name: place for place, name in enumerate(BUILT_IN.plugins)}
"""Places of the built-in plugins in a list; those of other packages come last."""


class Plugin(ConfigSection):
    """One plugin and its arguments, as text."""

    name: str
    arguments: Annotated[dict[str, str], BeforeValidator(parse_empty_section)] = {}


class Tier(ConfigSection):
    """A list of plugins. All tiers are concatenated; tier boundaries have no meaning."""

    plugins: list[Plugin]


def _change(value: object) -> object:
    """Arguments of a plugin that is on, None for one that is off."""
    if isinstance(value, dict):
        if isinstance(value.get("arguments"), dict):
            raise ValueError("write the arguments without the key `arguments`, such as {window: 10m}")
        return value
    try:
        return {} if value == "" or _BOOLEAN.validate_python(value) else None
    except ValidationError:
        raise ValueError("must be true, false, or a mapping of arguments") from None


PluginChanges = dict[str, Annotated[dict[str, str] | None, BeforeValidator(_change)]]
"""Arguments by plugin; None: the plugin is off."""


class PluginList(NamedTuple):
    """Plugins of a profile, and the errors of the sections that they come from."""

    plugins: tuple[PluginConfig, ...]
    paths: tuple[tuple[str, str], ...] = ()
    """Paths of the name and of the arguments of each plugin in the file."""
    problems: tuple[ConfigProblem, ...] = ()

    def path_in_file(self, path: str) -> str:
        """Path in the file for a path in the profile, such as `plugins[3].name`."""
        if not path.startswith("plugins["):
            return path
        position, _, rest = path.removeprefix("plugins[").partition("]")
        name, arguments = self.paths[int(position)]
        return name if rest == ".name" else arguments + rest.removeprefix(".arguments")


def list_plugins(
    tiers: Sequence[Tier] | None, changes: PluginChanges | None, allowed: Sequence[str]
) -> PluginList:
    """The plugins that a file configures; without either section those of the default profile."""
    if tiers is None:
        listed = _changed(changes or {})
        problem = ConfigProblem("allowMissingPlugins", "requires `tiers`: write `plugins: {NAME: false}`")
        return listed._replace(problems=(*listed.problems, problem)) if allowed else listed
    if changes is not None:
        problem = ConfigProblem(
            "plugins", "cannot be used with `tiers`, which is the complete list: use one of the two"
        )
        return PluginList(default_profile().plugins, problems=(problem,))
    return _complete(tiers, allowed)


def by_place(names: Iterable[str]) -> list[str]:
    """Built-in plugins in their fixed order, and then those of other packages in the given one."""
    return sorted(names, key=lambda name: _PLACES.get(name, len(_PLACES)))


def _changed(changes: PluginChanges) -> PluginList:
    """The default list with changes. Built-in plugins have fixed places."""
    names = [name for name in DEFAULT_PLUGINS if changes.get(name, {}) is not None]
    names += [name for name, arguments in changes.items() if arguments is not None and name not in names]
    names = by_place(names)
    plugins = tuple(PluginConfig(name, dict(changes.get(name) or {})) for name in names)
    paths = tuple((f"plugins.{name}", f"plugins.{name}") for name in names)
    return PluginList(plugins, paths, tuple(_unusable_changes(changes)))


def _unusable_changes(changes: PluginChanges) -> Iterator[ConfigProblem]:
    """Errors of plugins that are off: they must exist. `check_profile` checks the others."""
    registry = installed_registry()
    known = {*registry.plugins, *registry.failed_plugins, *SERVICE_FEATURES}
    for name in (name for name, arguments in changes.items() if arguments is None):
        if name in ALWAYS_ON:
            yield ConfigProblem(f"plugins.{name}", "is always on: remove it")
        elif name not in known:
            fix = known_names_hint(name, sorted(registry.plugins))
            yield ConfigProblem(f"plugins.{name}", f"unknown plugin {name!r}; {fix}")


def _complete(tiers: Sequence[Tier], allowed: Sequence[str]) -> PluginList:
    placed = [
        (f"tiers[{t}].plugins[{p}]", plugin)
        for t, tier in enumerate(tiers)
        for p, plugin in enumerate(tier.plugins)
    ]
    first: dict[str, str] = {}
    problems = []
    for path, plugin in placed:
        if (earlier := first.setdefault(plugin.name, path)) != path:
            text = f"plugin {plugin.name} is already listed at {earlier}"
            problems.append(ConfigProblem(f"{path}.name", text))
    problems += [*_wrongly_allowed(allowed, first), *_missing(first, allowed)]
    return PluginList(
        tuple(PluginConfig(plugin.name, dict(plugin.arguments)) for _, plugin in placed),
        tuple((f"{path}.name", f"{path}.arguments") for path, _ in placed),
        tuple(problems),
    )


def _wrongly_allowed(allowed: Sequence[str], listed: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    for i, name in enumerate(allowed):
        if name not in SAFETY_PLUGINS:
            known = ", ".join(SAFETY_PLUGINS)
            text = f"{name!r} is no plugin that safety needs: remove it; known: {known}"
            yield ConfigProblem(f"allowMissingPlugins[{i}]", text)
        elif name in listed:
            text = f"{name} is listed at {listed[name]}: remove it here or there"
            yield ConfigProblem(f"allowMissingPlugins[{i}]", text)


def _missing(listed: Mapping[str, Any], allowed: Sequence[str]) -> Iterator[ConfigProblem]:
    missing = [name for name in SAFETY_PLUGINS if name not in listed and name not in allowed]
    if missing:
        effects = "; ".join(f"without {name}, {SAFETY_PLUGINS[name]}" for name in missing)
        yield ConfigProblem(
            "tiers",
            f"is the complete list of plugins and omits {', '.join(missing)} ({effects}). List them, or "
            "change single plugins with `plugins` instead of `tiers`, or, if this is intended, set "
            f"allowMissingPlugins: [{', '.join(missing)}]",
        )
