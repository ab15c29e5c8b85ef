"""The OpenTelemetry SDK: what leaves the process, where to, and what becomes of it at the end.

Nothing leaves unless the configuration or the standard variables (OTEL_*) name a collector or the
configuration an address for Prometheus. Everything is sent by threads of its own, from queues of a bounded
length: a collector that is away, slow or refuses costs what it does not take, and nobody waits for it.

Which signals are to be sent to a collector: the configuration, then the standard variables.
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
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
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


SPAN_QUEUE: Final = 4_096
"""Spans that may wait for the collector, unless OTEL_BSP_MAX_QUEUE_SIZE says so: a closely watched cycle has
some hundreds, and they come at once.
"""
LAST_SECONDS: Final = 3.0
"""How long the end of the process waits for what is still to be sent."""
_End = Callable[[], object]


class Telemetry:
    """What was set up for this process; once set up, it stays until the process ends.

    `service` is what the process is called, unless the standard variables say otherwise.
    """

    def __init__(self, section: TelemetrySection, service: str) -> None:
        self._section = section
        self._resource = _resource(service)
        self._ends: list[_End] = []

    def start(self) -> None:
        """Set up what the configuration and the variables ask for. Raises TelemetryError.

        Signals for which a provider is set up already, as `opentelemetry-instrument` does, are left alone.
        """
        if not isinstance(metrics.get_meter_provider(), MeterProvider) and (readers := self._readers()):
            self._measure(readers)
        if not isinstance(trace.get_tracer_provider(), TracerProvider) and self._is_enabled("traces"):
            self._trace()
        if self._is_enabled("logs"):
            self._export_logs()

    def end(self) -> None:
        """Send what is still to be sent, as far as that takes no longer than LAST_SECONDS."""
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
            readers.append(PeriodicExportingMetricReader(exporter, milliseconds))
        if self._section.metrics_listen is not None:
            reader, close = exporters.serve(self._section.metrics_listen)
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
    """Who sends: as the standard variables say, else by our own name."""
    ours = {
        "service.name": service,
        "service.version": package_version(),
        "service.instance.id": str(uuid4()),
    }
    return Resource.create(ours).merge(OTELResourceDetector().detect())
