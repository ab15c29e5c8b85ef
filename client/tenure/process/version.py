"""Version of Tenure."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_UNINSTALLED: Final = "unknown"
"""Version of a checkout that is not installed."""


def package_version() -> str:
    """Version of the installed distribution `tenure`."""
    try:
        return version("tenure")
    except PackageNotFoundError:
        return _UNINSTALLED
