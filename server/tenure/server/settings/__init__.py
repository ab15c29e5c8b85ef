"""The configuration file: format, validation by path, and the resulting settings."""

from tenure.process.configuration import ConfigurationError
from tenure.process.values import TelemetrySection
from tenure.server.settings.configuration import Settings, load_settings
from tenure.server.settings.server import JwtIssuer, RecordSettings, Security, ServerLimits

__all__ = [
    "ConfigurationError",
    "JwtIssuer",
    "RecordSettings",
    "Security",
    "ServerLimits",
    "Settings",
    "TelemetrySection",
    "load_settings",
]
