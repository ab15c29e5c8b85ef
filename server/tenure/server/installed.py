"""Actions and plugins of installed packages, beside the built-in ones.

A package declares them by entry points of the groups `tenure.plugins` (a plugin's class) and
`tenure.actions` (an `Action`).
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tenure.process.entry_points import check_callable, load_group
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.custom_reason import CustomReason, DeclaredReasons


@cache
def installed_registry() -> Registry:
    """Everything that a profile may name here. Built-in names cannot be replaced.

    Entry points are read once per process. One that cannot be loaded is a problem of the profiles that name
    it, and of no others.
    """
    check = _Check()
    actions, failed_actions = load_group("tenure.actions", check.action)
    plugins, failed_plugins = load_group("tenure.plugins", check.plugin)
    return Registry(
        actions={
            **BUILT_IN.actions,
            **{name: actions[name] for name in actions if name not in BUILT_IN.actions},
        },
        plugins={**plugins, **BUILT_IN.plugins},
        failed_actions={name: text for name, text in failed_actions.items() if name not in BUILT_IN.actions},
        failed_plugins={name: text for name, text in failed_plugins.items() if name not in BUILT_IN.plugins},
    )


class _Check:
    """Checks what is loaded; what is refused is named with its package."""

    def __init__(self) -> None:
        self._reasons = DeclaredReasons()

    def action(self, name: str, loaded: Any) -> None:
        """Raises TypeError or ValueError for what is no action of this name, or declares invalid reasons."""
        if not isinstance(loaded, Action):
            raise TypeError("it is not a tenure.solver.plugin_api.Action")
        if loaded.name != name:
            raise ValueError(f"the action is named {loaded.name!r}, its entry point {name!r}")
        self._add(name, loaded.reasons, BUILT_IN.actions)

    def plugin(self, name: str, loaded: Any) -> None:
        """Raises TypeError or ValueError for what is no plugin, or declares invalid reasons."""
        check_callable(name, loaded)
        self._add(name, getattr(loaded, "REASONS", ()), BUILT_IN.plugins)

    def _add(self, name: str, reasons: Any, built_in: Mapping[str, object]) -> None:
        if isinstance(reasons, CustomReason) or not isinstance(reasons, Iterable):
            raise TypeError("REASONS is no list; use a tuple of CustomReason")
        if name not in built_in:
            self._reasons.add(name, reasons)
