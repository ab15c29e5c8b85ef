"""Random profiles: any guards in any order, with any arguments, and any order of the actions."""

from dataclasses import replace
from typing import Final

from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile

from tests.properties.generators.contested_clusters import ACTIONS
from tests.properties.generators.draw import Draw

ARGUMENTS: Final = {
    "evictionlimit": {
        "maxEvictions": (None, "1", "2"),
        "causes": (None, None, "stale_gang", "preempt, external"),
        "then": (None, None, "immune", "hold"),
    },
    "evictionbackoff": {
        "cooldown": (None, "0s", "10m", "1h"),
        "backoff": (None, "5m"),
        "maxBackoff": (None, "10m"),
    },
    "minruntime": {
        "defaultPreemptMinRuntime": (None, "10m", "30m"),
        "defaultReclaimMinRuntime": (None, "5m", "1h"),
        "reclaimResolveMethod": (None, "lca", "queue", "queue"),
    },
    "nearcompletion": {"window": (None, "0s", "5m", "30m", "2h")},
    "waitlimit": {"maxWait": (None, "1h")},
    "victimcooldown": {
        "cooldown": (None, "0s", "5m", "30m"),
        "maxCooldown": (None, "20m"),
        "progress": (None, "0s", "10m"),
    },
}
"""Argument values of each guard, in the order of the draws. None omits the argument."""


def random_profile(draw: Draw) -> Profile:
    """The default profile with about two of three optional guards."""
    guards = [_setting(draw, name) for name in _shuffled(draw, list(ARGUMENTS)) if draw.chance(65)]
    if draw.chance(30):
        guards.insert(draw.integer(0, len(guards)), PluginConfig("preemptibility"))
    default = default_profile()
    others = [each for each in default.plugins if each.name not in ARGUMENTS]
    at = draw.integer(0, len(others))
    actions = [name for name in _shuffled(draw, ACTIONS) if draw.chance(60)]
    return replace(
        default,
        actions=("allocate", *actions, "stalegangeviction"),
        plugins=(*others[:at], *guards, *others[at:]),
    )


def with_costs(profile: Profile, draw: Draw) -> Profile:
    """The profile with costs of evictions, and with several sets of victims to compare."""
    costs = PluginConfig("evictioncost", {"priorityBand": draw.choice(("1", "10", "1000"))})
    options = replace(profile.options, victim_alternatives=draw.choice((1, 2, 5)))
    return replace(profile, plugins=(*profile.plugins, costs), options=options)


def without_optional_guards(profile: Profile) -> Profile:
    """Copy of a profile without optional guards."""
    return replace(profile, plugins=tuple(each for each in profile.plugins if each.name not in ARGUMENTS))


def _setting(draw: Draw, name: str) -> PluginConfig:
    drawn = {argument: draw.choice(values) for argument, values in ARGUMENTS[name].items()}
    if draw.chance(30):
        drawn["actions"] = ", ".join(action for action in ACTIONS if draw.chance(60)) or "preempt"
    return PluginConfig(name, {argument: text for argument, text in drawn.items() if text is not None})


def _shuffled(draw: Draw, names: tuple[str, ...] | list[str]) -> list[str]:
    left, order = list(names), []
    while left:
        order.append(left.pop(draw.integer(0, len(left) - 1)))
    return order
