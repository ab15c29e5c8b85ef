"""Objects that installed packages declare by entry points. One that cannot be loaded says so in one line."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple


class EntryPointError(Exception):
    """An entry point cannot be loaded. The message is one line with its name, its package and the error."""


class LoadedEntryPoints(NamedTuple):
    """Objects of a group by name, and the errors of those that cannot be loaded."""

    found: Mapping[str, Any]
    failures: Mapping[str, str]


def load_group(group: str, check: Callable[[str, Any], None]) -> LoadedEntryPoints:
    """Load all entry points of a group. `check` raises an error for an object of another kind."""
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            found[point.name] = load_entry_point(point, check)
        except EntryPointError as error:
            failures[point.name] = str(error)
    return LoadedEntryPoints(found, failures)


def load_entry_point(point: EntryPoint, check: Callable[[str, Any], None]) -> Any:
    """Load and check one entry point. Raises EntryPointError, whatever its import raises."""
    try:
        loaded = point.load()
        check(point.name, loaded)
    except (Exception, SystemExit) as error:
        raise EntryPointError(_describe(point, error)) from error
    return loaded


def check_callable(name: str, loaded: Any) -> None:
    """Raises TypeError if an object cannot be called."""
    if not callable(loaded):
        raise TypeError("it is not a class or a function")


def _describe(point: EntryPoint, error: BaseException) -> str:
    package = "an installed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    text = " ".join(str(error).split())
    return f"{point.name} of {package} cannot be loaded: {point.value}: {type(error).__name__}: {text}"
