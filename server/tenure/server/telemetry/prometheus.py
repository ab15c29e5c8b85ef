"""The page `/metrics` for Prometheus, on a port of its own."""

from collections.abc import Callable

from opentelemetry.sdk.metrics.export import MetricReader
from tenure.server.telemetry.extras import TelemetryError, missing


def serve(address: str) -> tuple[MetricReader, Callable[[], object]]:
    """Serve the page at HOST:PORT; what reads the metrics for it, and what ends it.

    Raises TelemetryError when the address cannot be had or the packages are not installed.
    """
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
    except ImportError:
        raise missing("a page for Prometheus") from None
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=registry)
    host, _, port = address.rpartition(":")
    try:
        page, _ = start_http_server(int(port), host.strip("[]"), registry)
    except OSError as error:
        raise TelemetryError(
            f"cannot serve metrics on {address}: {error.strerror}; choose another telemetry.metricsListen"
        ) from None
    return reader, page.shutdown
