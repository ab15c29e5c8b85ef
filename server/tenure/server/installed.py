"""Actions and plugins of installed packages, beside the built-in ones.

A package declares them by entry points of the groups `tenure.plugins` (a plugin's class) and
`tenure.actions` (an `Action`).
"""

from functools import cache
from typing import Any

from tenure.process.entry_points import check_callable, load_group
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN


@cache
def installed_registry() -> Registry:
    """Everything that a profile may name here. Built-in names cannot be replaced.

    Entry points are read once per process. One that cannot be loaded is a problem of the profiles that name
    it, and of no others.
    """
    actions, failed_actions = load_group("tenure.actions", _check_action)
    plugins, failed_plugins = load_group("tenure.plugins", check_callable)
    return Registry(
        {**BUILT_IN.actions, **{name: actions[name] for name in actions if name not in BUILT_IN.actions}},
        {**plugins, **BUILT_IN.plugins},
        {name: text for name, text in failed_actions.items() if name not in BUILT_IN.actions},
        {name: text for name, text in failed_plugins.items() if name not in BUILT_IN.plugins},
    )


def _check_action(name: str, loaded: Any) -> None:
    if not isinstance(loaded, Action):
        raise TypeError("it is not a tenure.solver.plugin_api.action.Action")
    if loaded.name != name:
        raise ValueError(f"the action is named {loaded.name!r}, its entry point {name!r}")
