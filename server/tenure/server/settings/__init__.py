"""The configuration file: its format, its faults by path, and what the server makes of it."""

from tenure.process.configuration import ConfigurationError
from tenure.process.values import TelemetrySection
from tenure.server.settings.configuration import Settings, load_settings
from tenure.server.settings.server import RecordSettings, Security, ServerLimits

__all__ = [
    "ConfigurationError",
    "RecordSettings",
    "Security",
    "ServerLimits",
    "Settings",
    "TelemetrySection",
    "load_settings",
]
