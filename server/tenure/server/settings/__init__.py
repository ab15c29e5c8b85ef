"""The configuration file: its format, its faults by path, and what the server makes of it."""

from tenure.server.settings.load import Settings, load_settings
from tenure.server.settings.models import ServerLimits
from tenure.server.settings.problems import ConfigurationError

__all__ = ["ConfigurationError", "ServerLimits", "Settings", "load_settings"]
