"""Metrics and logs of a server in this process."""

from collections.abc import Sequence
from functools import cache
from logging import LogRecord

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader

Counts = dict[tuple[str, ...], int]
"""Increments by counter name and label values, in the order of the label names."""


@cache
def _reader() -> InMemoryMetricReader:
    """A process has one meter provider permanently; a Prometheus endpoint reads the same counters."""
    reader = InMemoryMetricReader({Counter: AggregationTemporality.DELTA})
    set_meter_provider(MeterProvider([reader, PrometheusMetricReader()]))
    return reader


REQUEUES_AND_WARNINGS = ("kai_", "tenure_requeue", "tenure_snapshot_warnings")


def count_metrics(*prefixes: str) -> Counts:
    """Return the increments since the last call, by default of requeues and snapshot warnings.

    The first call returns no increments.
    """
    data = _reader().get_metrics_data()
    resources = data.resource_metrics if data else []
    metrics = [m for resource in resources for scope in resource.scope_metrics for m in scope.metrics]
    return {
        (metric.name, *(str(value) for _, value in sorted(point.attributes.items()))): point.value
        for metric in metrics
        if metric.name.startswith(prefixes or REQUEUES_AND_WARNINGS)
        for point in metric.data.data_points
    }


def log_lines(records: Sequence[LogRecord]) -> list[tuple[str, str]]:
    """Return level and text of the log records about cycles."""
    own = [record for record in records if record.name in ("tenure.requeue", "tenure.preemptibility")]
    return [(record.levelname, record.getMessage()) for record in own]
