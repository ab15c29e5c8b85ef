"""The section `telemetry` of the configuration file: what leaves the server about its work, and where to."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from tenure.server.settings.values import Address, PositiveDuration, Section, nothing


def _endpoint(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("must be an address like http://127.0.0.1:4317, or https:// for TLS")
    return value


Level = Literal["debug", "info", "warning", "error"]


class Logs(Section):
    """Lines on standard error."""

    level: Level = "warning"
    """From which level on lines are written; read again on SIGHUP."""
    format: Literal["text", "json"] = "text"
    """`json`: one object a line."""


class TelemetrySection(Section):
    """All of the section. Times in nanoseconds."""

    otlp_endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    """Collector that gets spans, metrics and lines over OTLP/gRPC. None: what OTEL_* variables say."""
    sample_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Part of the traces that begin here that is kept; one that began at a caller is kept when it is there.
    None: what OTEL_TRACES_SAMPLER says, else all.
    """
    metrics_interval: PositiveDuration | None = None
    """Between two exports of metrics. None: what OTEL_METRIC_EXPORT_INTERVAL says, else a minute."""
    metrics_listen: Address | None = None
    """Where Prometheus finds `/metrics`, in clear text and for everybody who can reach it. None: nowhere."""
    workload_names: bool = False
    """Whether events of spans name pod groups by uid."""
    logs: Annotated[Logs, BeforeValidator(nothing)] = Logs()
