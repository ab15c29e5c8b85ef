"""Which signals are to be sent to a collector: the configuration, then the standard variables."""

import os
from typing import Literal

from tenure.server.telemetry.extras import TelemetryError

Signal = Literal["traces", "metrics", "logs"]


def is_wanted(signal: Signal, endpoint: str | None) -> bool:
    """Whether a signal is to be sent: an endpoint is named for it and nobody says no.

    Raises TelemetryError when a variable asks for what is not here.
    """
    if _variable("OTEL_SDK_DISABLED").lower() == "true":
        return False
    exporter = _variable(f"OTEL_{signal.upper()}_EXPORTER")
    if exporter not in ("", "none", "otlp"):
        raise TelemetryError(f"OTEL_{signal.upper()}_EXPORTER={exporter}: write otlp or none")
    if exporter == "none":
        return False
    is_named = bool(endpoint or _variable("OTEL_EXPORTER_OTLP_ENDPOINT") or _of(signal, "ENDPOINT"))
    protocol = _of(signal, "PROTOCOL") or _variable("OTEL_EXPORTER_OTLP_PROTOCOL")
    if is_named and protocol not in ("", "grpc"):
        raise TelemetryError(f"OTLP over {protocol} is not spoken here: write grpc")
    return is_named or exporter == "otlp"


def _of(signal: Signal, what: str) -> str:
    return _variable(f"OTEL_EXPORTER_OTLP_{signal.upper()}_{what}")


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()
