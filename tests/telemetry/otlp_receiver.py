"""An OTLP receiver: a gRPC server with the official service definitions that stores received telemetry."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_pb
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc as logs_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE_SECONDS = 60.0
_Found = TypeVar("_Found")


class ReceivedTelemetry:
    """Received telemetry, in the order of arrival."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.metrics: dict[str, Metric] = {}
        """The latest metric of each name."""
        self.exemplars: dict[str, set[bytes]] = {}
        """Trace ids of histogram exemplars, by name. Each export contains those since the previous one.
        They are stored before the metric of that export.
        """
        self.lines: list[LogRecord] = []
        self.services: set[str] = set()

    def wait_until(self, look: Callable[["ReceivedTelemetry"], _Found | None]) -> _Found:
        """Wait until `look` returns a true value, and return it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if found := look(self):
                return found
            time.sleep(0.05)
        raise AssertionError(f"did not arrive; there are spans {sorted({span.name for span in self.spans})}")

    def named(self, name: str) -> list[Span]:
        """Return the spans with this name."""
        return [span for span in self.spans if span.name == name]


class _Traces(trace_grpc.TraceServiceServicer):
    def __init__(self, received: ReceivedTelemetry) -> None:
        self._received = received

    def Export(self, request, context):
        for resource in request.resource_spans:
            self._received.services.add(text_attributes(resource.resource.attributes)["service.name"])
            for scope in resource.scope_spans:
                self._received.spans.extend(scope.spans)
        return trace_pb.ExportTraceServiceResponse()


class _Metrics(metrics_grpc.MetricsServiceServicer):
    def __init__(self, received: ReceivedTelemetry) -> None:
        self._received = received

    def Export(self, request, context):
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    traces = self._received.exemplars.setdefault(metric.name, set())
                    points = metric.histogram.data_points
                    traces.update([each.trace_id for point in points for each in point.exemplars])
                self._received.metrics.update({metric.name: metric for metric in scope.metrics})
        return metrics_pb.ExportMetricsServiceResponse()


class _Logs(logs_grpc.LogsServiceServicer):
    def __init__(self, received: ReceivedTelemetry) -> None:
        self._received = received

    def Export(self, request, context):
        for resource in request.resource_logs:
            for scope in resource.scope_logs:
                self._received.lines.extend(scope.log_records)
        return logs_pb.ExportLogsServiceResponse()


@contextmanager
def run_receiver() -> Iterator[tuple[ReceivedTelemetry, str]]:
    """Run a receiver on a free local port. Yields the received telemetry and the address as HOST:PORT."""
    received = ReceivedTelemetry()
    server = grpc.server(ThreadPoolExecutor(4))
    trace_grpc.add_TraceServiceServicer_to_server(_Traces(received), server)
    metrics_grpc.add_MetricsServiceServicer_to_server(_Metrics(received), server)
    logs_grpc.add_LogsServiceServicer_to_server(_Logs(received), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield received, f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def text_attributes(attributes) -> dict[str, str]:
    """Return the attributes with string values."""
    return {each.key: each.value.string_value for each in attributes if each.value.string_value}


def number_attributes(attributes) -> dict[str, int]:
    """Return the attributes with integer values."""
    return {each.key: each.value.int_value for each in attributes if each.value.HasField("int_value")}
