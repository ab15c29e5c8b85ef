"""Version of Tenure."""

from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

_UNINSTALLED: Final = "unknown"
"""Version of a checkout that is not installed."""


@cache
def package_version() -> str:
    """Version of the installed distribution `tenure`."""
    try:
        return version("tenure")
    except PackageNotFoundError:
        return _UNINSTALLED


def is_compiled(module: str) -> bool:
    """Whether a module is machine code. Raises ModuleNotFoundError if its package is not installed."""
    found = find_spec(module)
    return found is not None and str(found.origin).endswith(tuple(EXTENSION_SUFFIXES))
