"""Actions and plugins of installed packages, beside the built-in ones.

A package declares them by entry points of the groups `tenure.plugins` (a plugin's class) and
`tenure.actions` (an `Action`).
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN


@cache
def installed_registry() -> Registry:
    """Everything that a profile may name here. Built-in names cannot be replaced.

    Entry points are read once per process. One that cannot be loaded is a problem of the profiles that name
    it, and of no others.
    """
    actions, failed_actions = _load("tenure.actions", _check_action)
    plugins, failed_plugins = _load("tenure.plugins", _check_plugin)
    return Registry(
        {**BUILT_IN.actions, **{name: actions[name] for name in actions if name not in BUILT_IN.actions}},
        {**plugins, **BUILT_IN.plugins},
        {name: text for name, text in failed_actions.items() if name not in BUILT_IN.actions},
        {name: text for name, text in failed_plugins.items() if name not in BUILT_IN.plugins},
    )


def _load(group: str, check: Callable[[str, Any], None]) -> tuple[dict[str, Any], dict[str, str]]:
    """Objects of the entry points of a group, and errors of those that cannot be loaded."""
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            loaded = point.load()
            check(point.name, loaded)
        except Exception as error:
            failures[point.name] = _describe_failure(point, error)
        else:
            found[point.name] = loaded
    return found, failures


def _check_action(name: str, loaded: Any) -> None:
    if not isinstance(loaded, Action):
        raise TypeError("it is not a tenure.solver.plugin_api.action.Action")
    if loaded.name != name:
        raise ValueError(f"the action is named {loaded.name!r}, its entry point {name!r}")


def _check_plugin(name: str, loaded: Any) -> None:
    if not callable(loaded):
        raise TypeError("it is not a class")


def _describe_failure(point: EntryPoint, error: Exception) -> str:
    package = "an installed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return f"{point.name} of {package} cannot be loaded: {point.value}: {type(error).__name__}: {error}"
