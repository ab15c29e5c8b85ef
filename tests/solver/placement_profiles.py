"""Profiles that choose nodes otherwise than the default one."""

from dataclasses import replace
from typing import Final

from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile

REPLACED: Final = ("nodeplacement", "gpusharingorder", "fragmentation")


def with_fragmentation() -> Profile:
    """The default profile with the plugin `fragmentation`, without those that it replaces (R3.79)."""
    others = [each for each in default_profile().plugins if each.name not in REPLACED]
    return replace(default_profile(), plugins=(*others, PluginConfig("fragmentation")))
