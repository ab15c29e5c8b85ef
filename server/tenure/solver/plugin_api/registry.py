"""A registry: the actions and plugins that profiles may name."""

from collections.abc import Mapping
from typing import Final, final

from tenure.solver.plugin_api.action import Action, GuardedActions
from tenure.solver.plugin_api.context import PluginFactory


@final
class Registry:
    """Actions and plugins by name. Immutable; passed to everything that reads a profile."""

    def __init__(
        self,
        actions: Mapping[str, Action],
        plugins: Mapping[str, PluginFactory],
        failed_actions: Mapping[str, str] | None = None,
        failed_plugins: Mapping[str, str] | None = None,
    ) -> None:
        """`failed_actions` and `failed_plugins` state why actions and plugins could not be loaded."""
        self.actions: Final = actions
        self.plugins: Final = plugins
        self.failed_actions: Final[Mapping[str, str]] = failed_actions or {}
        self.failed_plugins: Final[Mapping[str, str]] = failed_plugins or {}
        self.guarded: Final = GuardedActions(actions.values())
