"""The chains offer exactly the extension points that are declared."""

from dataclasses import fields
from inspect import getmembers, isclass
from typing import Protocol

from tenure.solver.framework.chains import Chains
from tenure.solver.plugin_api import points
from tenure.solver.registry import BUILT_IN

SECONDARY = {"concerns"}
"""Methods that come with another one and are not a chain of their own."""


def declared() -> set[str]:
    protocols = [
        cls
        for _, cls in getmembers(points, isclass)
        if cls.__module__ == points.__name__ and Protocol in cls.__mro__
    ]
    names = {name for cls in protocols for name in vars(cls) if not name.startswith("_")}
    return names - SECONDARY


def test_every_extension_point_has_a_chain() -> None:
    assert {field.name for field in fields(Chains)} - {"names"} == declared()


def test_every_plugin_implements_an_extension_point() -> None:
    points = declared()
    for name, plugin in BUILT_IN.plugins.items():
        source = set(dir(plugin)) | set(plugin.__init__.__code__.co_names)
        assert points & source, name
