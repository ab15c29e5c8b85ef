"""The configuration file: its format, its faults by path, and what the server makes of it."""

from tenure.server.settings.load import Settings, load_settings
from tenure.server.settings.problems import ConfigurationError
from tenure.server.settings.records import RecordSettings
from tenure.server.settings.server import Security, ServerLimits
from tenure.server.settings.telemetry import TelemetrySection

__all__ = [
    "ConfigurationError",
    "RecordSettings",
    "Security",
    "ServerLimits",
    "Settings",
    "TelemetrySection",
    "load_settings",
]
