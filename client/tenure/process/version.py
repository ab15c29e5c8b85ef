"""Version of Tenure."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
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
