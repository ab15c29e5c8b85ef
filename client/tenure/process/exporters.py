"""Optional OpenTelemetry exporters (extra `telemetry`): OTLP, and `/metrics` for Prometheus."""

import logging
import time
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from opentelemetry._logs import Logger, LoggerProvider, SeverityNumber
from opentelemetry.context import get_current
from opentelemetry.sdk.metrics.export import CardinalityLimits, MetricReader
from tenure.process.metrics_page import MetricsPage


class TelemetryError(ValueError):
    """Telemetry cannot be set up as configured. The message has the fix."""


class Exporters(NamedTuple):
    """OTLP exporter classes."""

    spans: Any
    metrics: Any
    logs: Any


def load_exporters() -> Exporters:
    """Exporters for OTLP over gRPC. Raises TelemetryError if they are not installed."""
    try:
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise missing_extra_message("exporting telemetry to a collector") from None
    return Exporters(OTLPSpanExporter, OTLPMetricExporter, OTLPLogExporter)


def missing_extra_message(what: str) -> TelemetryError:
    """Error for a missing extra."""
    return TelemetryError(f"{what} requires the extra `telemetry`: pip install 'tenure[telemetry]'")


_SEVERITY: Final = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}


class LogExporter(logging.Handler):
    """Passes Tenure's log records to the SDK, which sends them asynchronously."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self._loggers: dict[str, Logger] = {}
        self._provider = provider

    def emit(self, record: logging.LogRecord) -> None:
        """Export a log record."""
        attributes = {}
        if record.exc_info:
            attributes["exception.stacktrace"] = logging.Formatter().formatException(record.exc_info)
        self._logger(record.name).emit(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time.time_ns(),
            context=get_current(),
            severity_number=_SEVERITY.get(record.levelno, SeverityNumber.UNSPECIFIED),
            severity_text=record.levelname,
            body=record.getMessage(),
            attributes=attributes,
        )

    def _logger(self, name: str) -> Logger:
        if name not in self._loggers:
            self._loggers[name] = self._provider.get_logger(name)
        return self._loggers[name]


def serve(
    address: str, limits: CardinalityLimits, names: Collection[str] = ()
) -> tuple[MetricReader, Callable[[], object]]:
    """Serve `/metrics` at HOST:PORT; return its metric reader, and a function that stops it.

    `limits` are the maximum numbers of series, `names` host names by which the page may be requested.

    Raises TelemetryError if the address cannot be bound or the packages are not installed.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
    except ImportError:
        raise missing_extra_message("serving metrics for Prometheus") from None
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    reader = PrometheusMetricReader(
        disable_target_info=True, scope_info_enabled=False, registry=registry, cardinality_limits=limits
    )
    host, _, port = address.rpartition(":")
    try:
        page = MetricsPage(make_wsgi_app(registry), host.strip("[]"), int(port), names)
    except OSError as error:
        raise TelemetryError(
            f"cannot serve metrics on {address}: {error.strerror}; change telemetry.metricsListen"
        ) from None
    return reader, page.stop
