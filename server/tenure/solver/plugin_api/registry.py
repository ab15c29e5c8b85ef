"""A registry: the actions and plugins that profiles may name."""

from collections.abc import Callable, Mapping
from typing import Any, Final, final

from tenure.solver.plugin_api.action import Action, QueueGate

PluginFactory = Callable[[Any, Mapping[str, str]], object]
"""A class constructed once per session, with the session and the arguments of the profile."""


def action_names(text: str) -> tuple[str, ...]:
    """Names separated by commas. As the parser of an argument: actions that guards know, which the registry
    checks.
    """
    return tuple([name.strip() for name in text.split(",") if name.strip()])


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
        """`failed_...` says of actions and plugins that could not be loaded what is wrong with them."""
        self.actions: Final = actions
        self.plugins: Final = plugins
        self.failed_actions: Final[Mapping[str, str]] = failed_actions or {}
        self.failed_plugins: Final[Mapping[str, str]] = failed_plugins or {}
        guarded = [action for action in actions.values() if action.is_guarded]
        guarded.sort(key=_strictest_gate_first)
        self.guarded_actions: Final = tuple(guarded)
        """Actions that guards know; those with the strictest gate first."""
        self.guarded_names: Final = tuple([action.name for action in guarded])
        self.fair_share_names: Final = frozenset(
            [name for name, action in actions.items() if action.gate is QueueGate.FAIR_SHARE]
        )
        """Actions by which other queues take resources back; to opt out of any makes a pod group firm."""

    def parse_guarded_actions(self, text: str | None) -> tuple[Action, ...]:
        """The actions of a guard's argument, such as `reclaim, preempt`; all of them without the argument.

        Raises ValueError for a name that is not the name of such an action, and when there is no name.
        """
        if text is None:
            return self.guarded_actions
        named, known = action_names(text), self.guarded_names
        unknown = [name for name in named if name not in known]
        if unknown or not named:
            wrong = unknown[0] if unknown else text
            raise ValueError(f"{wrong!r} is not an action that guards know; use {', '.join(known)}")
        return tuple([action for action in self.guarded_actions if action.name in named])


def _strictest_gate_first(action: Action) -> int:
    return -int(action.gate.value)
