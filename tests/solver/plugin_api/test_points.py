"""The chains contain exactly the declared extension points."""

from inspect import getmembers, isclass
from types import ModuleType
from typing import Final, Protocol

from tenure.solver.framework.chains import POINTS
from tenure.solver.plugin_api import points, traits
from tenure.solver.registry import BUILT_IN

COMPANIONS: Final = {
    *("guard_cache_key", "may_expire", "concerns", "placement_kind"),
    *("node_state", "request_index", "least", "rank", "limits_victims"),
}
"""Methods of extension points beside those of chains."""


def methods(module: ModuleType) -> set[str]:
    """Methods of the protocols in a module."""
    protocols = [
        cls
        for _, cls in getmembers(module, isclass)
        if cls.__module__ == module.__name__ and Protocol in cls.__mro__
    ]
    return {name for cls in protocols for name in vars(cls) if not name.startswith("_")}


def test_every_extension_point_has_a_chain() -> None:
    declared = methods(points) | methods(traits)
    assert set(POINTS.values()) == declared - COMPANIONS


def test_every_plugin_class_implements_an_extension_point() -> None:
    classes = {name: plugin for name, plugin in BUILT_IN.plugins.items() if isclass(plugin)}
    assert set(BUILT_IN.plugins) - set(classes) == {"podaffinity", "predicates", "proportion", "reservation"}
    for name, plugin in classes.items():
        assert set(POINTS.values()) & set(dir(plugin)), name
