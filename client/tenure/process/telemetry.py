"""The OpenTelemetry SDK: which signals are exported, where to, and flushing at exit.

Export is off unless the configuration or the standard variables (OTEL_*) name a collector, or the
configuration an address for Prometheus. Threads export from bounded queues: a collector that is unavailable,
slow or rejects data loses that data, and nothing waits for it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final, Literal
from uuid import uuid4

from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider, ObservableGauge
from opentelemetry.sdk.metrics.export import (
    CardinalityLimits,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from tenure.process import exporters
from tenure.process.exporters import LogExporter, TelemetryError, load_exporters
from tenure.process.values import TelemetrySection
from tenure.process.version import package_version
from tenure.terms.durations import SECOND

Signal = Literal["traces", "metrics", "logs"]


def is_enabled(signal: Signal, endpoint: str | None) -> bool:
    """Whether a signal is exported: it has an endpoint and is not disabled.

    Raises TelemetryError if a variable requires an unsupported exporter.
    """
    if _variable("OTEL_SDK_DISABLED").lower() == "true":
        return False
    exporter = _variable(f"OTEL_{signal.upper()}_EXPORTER")
    if exporter not in ("", "none", "otlp"):
        raise TelemetryError(f"OTEL_{signal.upper()}_EXPORTER={exporter} is not supported: use otlp or none")
    if exporter == "none":
        return False
    is_named = bool(endpoint or _variable("OTEL_EXPORTER_OTLP_ENDPOINT") or _of(signal, "ENDPOINT"))
    protocol = _of(signal, "PROTOCOL") or _variable("OTEL_EXPORTER_OTLP_PROTOCOL")
    if is_named and protocol not in ("", "grpc"):
        raise TelemetryError(f"OTLP over {protocol} is not supported: use grpc")
    return is_named or exporter == "otlp"


def _of(signal: Signal, what: str) -> str:
    return _variable(f"OTEL_EXPORTER_OTLP_{signal.upper()}_{what}")


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


SPAN_QUEUE: Final = 4_096
"""Default size of the span queue (OTEL_BSP_MAX_QUEUE_SIZE): a detailed cycle has some hundreds at once."""
LAST_SECONDS: Final = 3.0
"""Maximum time for flushing at exit."""
MAX_SERIES: Final = 10_000
"""Maximum number of series of a gauge. The SDK counts all series since the start, and merges further ones."""
SERIES_LIMITS: Final[CardinalityLimits] = {ObservableGauge: MAX_SERIES}
_End = Callable[[], object]


class Telemetry:
    """Telemetry of this process; once set up, it stays until the process ends.

    `service` is the service name, unless the standard variables set one.
    """

    def __init__(self, section: TelemetrySection, service: str) -> None:
        self._section = section
        self._resource = _resource(service)
        self._ends: list[_End] = []

    def start(self) -> None:
        """Set up what the configuration and the variables require. Raises TelemetryError.

        Signals with an existing provider, as from `opentelemetry-instrument`, are not changed.
        """
        if not isinstance(metrics.get_meter_provider(), MeterProvider) and (readers := self._readers()):
            self._measure(readers)
        if not isinstance(trace.get_tracer_provider(), TracerProvider) and self._is_enabled("traces"):
            self._trace()
        if self._is_enabled("logs"):
            self._export_logs()

    def end(self) -> None:
        """Flush, for at most LAST_SECONDS."""
        threads = [threading.Thread(target=end, daemon=True) for end in self._ends]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + LAST_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _is_enabled(self, signal: Signal) -> bool:
        return is_enabled(signal, self._section.otlp_endpoint)

    def _readers(self) -> list[MetricReader]:
        readers: list[MetricReader] = []
        if self._is_enabled("metrics"):
            interval = self._section.metrics_interval
            exporter = load_exporters().metrics(endpoint=self._section.otlp_endpoint)
            milliseconds = None if interval is None else interval / SECOND * 1_000
            readers.append(
                PeriodicExportingMetricReader(exporter, milliseconds, cardinality_limits=SERIES_LIMITS)
            )
        if self._section.metrics_listen is not None:
            reader, close = exporters.serve(
                self._section.metrics_listen, SERIES_LIMITS, self._section.metrics_hosts
            )
            readers.append(reader)
            self._ends.append(close)
        return readers

    def _measure(self, readers: list[MetricReader]) -> None:
        provider = MeterProvider(readers, self._resource, shutdown_on_exit=False)
        metrics.set_meter_provider(provider)
        self._ends.append(provider.shutdown)

    def _trace(self) -> None:
        ratio = self._section.sample_ratio
        sampler = None if ratio is None else ParentBased(TraceIdRatioBased(ratio))
        provider = TracerProvider(sampler, self._resource, shutdown_on_exit=False)
        queue = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else SPAN_QUEUE
        exporter = load_exporters().spans(endpoint=self._section.otlp_endpoint)
        provider.add_span_processor(BatchSpanProcessor(exporter, queue))
        trace.set_tracer_provider(provider)
        self._ends.append(provider.shutdown)

    def _export_logs(self) -> None:
        provider = LoggerProvider(self._resource, shutdown_on_exit=False)
        exporter = load_exporters().logs(endpoint=self._section.otlp_endpoint)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        set_logger_provider(provider)
        logging.getLogger("tenure").addHandler(LogExporter(provider))
        self._ends.append(provider.shutdown)


def _resource(service: str) -> Resource:
    """Resource attributes of the standard variables, with a default service name."""
    ours = {
        "service.name": service,
        "service.version": package_version(),
        "service.instance.id": str(uuid4()),
    }
    return Resource.create(ours).merge(OTELResourceDetector().detect())
