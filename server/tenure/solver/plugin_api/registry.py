"""A registry: the actions and plugins that profiles may name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, final

from tenure.solver.plugin_api.action import Action, GuardedActions
from tenure.solver.plugin_api.context import PluginFactory
from tenure.solver.plugin_api.profile import Profile
from tenure.terms.custom_reason import DeclaredReasons


@final
class Registry:
    """Actions and plugins by name. Immutable; passed to everything that reads a profile."""

    def __init__(
        self,
        *,
        actions: Mapping[str, Action],
        plugins: Mapping[str, PluginFactory],
        failed_actions: Mapping[str, str] | None = None,
        failed_plugins: Mapping[str, str] | None = None,
    ) -> None:
        """`failed_actions` and `failed_plugins` state why actions and plugins could not be loaded.

        Raises ValueError for reasons that are not valid; see `DeclaredReasons`.
        """
        self.actions: Final = actions
        self.plugins: Final = plugins
        self.failed_actions: Final[Mapping[str, str]] = failed_actions or {}
        self.failed_plugins: Final[Mapping[str, str]] = failed_plugins or {}
        self.guarded: Final = GuardedActions(actions.values())
        evictions = {name: each.custom_reason for name, each in actions.items() if each.custom_reason}
        self.reasons: Final = DeclaredReasons(evictions=evictions)
        """Reasons of the actions and plugins themselves."""
        for name, declared in declarations(actions, plugins):
            self.reasons.add(name, declared)

    def arguments_of(self, profile: Profile, plugin: str) -> Mapping[str, str] | None:
        """Arguments of a plugin in a profile, with its defaults; None: the profile does not name it."""
        chosen = next((each.arguments for each in profile.plugins if each.name == plugin), None)
        if chosen is None:
            return None
        defaults: Mapping[str, str] = getattr(self.plugins[plugin], "DEFAULTS", {})
        return {**defaults, **chosen}


def declarations(
    actions: Mapping[str, Action], plugins: Mapping[str, PluginFactory]
) -> Iterator[tuple[str, Iterable[object]]]:
    """Actions and plugins that declare reasons, by name, with the reasons."""
    for name, action in actions.items():
        if action.reasons:
            yield name, action.reasons
    for name, plugin in plugins.items():
        if reasons := getattr(plugin, "REASONS", ()):
            yield name, reasons
