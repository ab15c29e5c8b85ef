"""Which installed package raised an error: that of a plugin or an action is not an error of Tenure."""

from importlib.metadata import EntryPoint, entry_points
from traceback import walk_tb
from types import FrameType
from typing import Final

from tenure.solver.framework.chains import PluginError

_GROUPS: Final = {"tenure.plugins": "plugin", "tenure.actions": "action"}
_OWN: Final = "tenure"


def culprit_of(error: BaseException) -> str:
    """The plugin or action whose call raised, such as `plugin rack of acme-rack 1.2`; empty: none did.

    That is the one whose package the innermost frame of a foreign package belongs to.
    """
    points = [point for group in _GROUPS for point in entry_points(group=group)]
    if isinstance(error, PluginError):
        found = [point for point in points if point.group == "tenure.plugins" and point.name == error.plugin]
        return ", ".join(map(_described, found[:1])) or f"plugin {error.plugin}"
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        module = frame.f_globals.get("__name__", "")
        package = [point for point in points if _package(point.module) == _package(module)]
        if package:
            return " or ".join(dict.fromkeys(map(_described, _nearest(package, module, frame))))
    return ""


def _package(module: str) -> str:
    """The outermost package that is not shared with Tenure."""
    first = module.split(".", 1)[0]
    return module if first == _OWN else first


def _nearest(points: list[EntryPoint], module: str, frame: FrameType) -> list[EntryPoint]:
    """Of the plugins and actions of a package: that of the object, else those of the module, else all."""
    kinds = [kind.__name__ for kind in type(frame.f_locals.get("self")).__mro__]
    by_object = [point for point in points if point.module == module and point.attr in kinds]
    return by_object or [point for point in points if point.module == module] or points


def _described(point: EntryPoint) -> str:
    package = "an installed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return f"{_GROUPS[point.group]} {point.name} of {package}"
