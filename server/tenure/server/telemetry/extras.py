"""Packages that only those need who want telemetry to leave the process: the extra `telemetry`."""

from typing import Any, NamedTuple


class TelemetryError(ValueError):
    """Telemetry cannot be had as it is asked for. Says what to do instead."""


class Exporters(NamedTuple):
    """Classes that send to a collector."""

    spans: Any
    metrics: Any
    lines: Any


def exporters() -> Exporters:
    """Those for OTLP over gRPC. Raises TelemetryError when they are not installed."""
    try:
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise missing("sending telemetry to a collector") from None
    return Exporters(OTLPSpanExporter, OTLPMetricExporter, OTLPLogExporter)


def missing(what: str) -> TelemetryError:
    """The extra is not installed."""
    return TelemetryError(f"{what} needs more packages: pip install 'tenure[telemetry]'")
