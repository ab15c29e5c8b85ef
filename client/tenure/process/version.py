"""The version of Tenure that runs."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_UNINSTALLED: Final = "unknown"
"""The version of code that runs from a checkout without being installed."""


def package_version() -> str:
    """Version of the installed distribution `tenure`."""
    try:
        return version("tenure")
    except PackageNotFoundError:
        return _UNINSTALLED
