"""All three signals go through the real collector, with the configuration that the project ships."""

from pathlib import Path

from tenure.client import Client

from tests.telemetry.programs import collector
from tests.telemetry.receiver import receiving
from tests.telemetry.served import METRICS_INTERVAL, contested_snapshot, telling_server


def test_traces_metrics_and_lines_come_through(tmp_path: Path) -> None:
    with (
        receiving() as (received, onward),
        collector(tmp_path, onward) as address,
        telling_server(tmp_path, otlpEndpoint=f"http://{address}", metricsInterval=METRICS_INTERVAL) as (
            _,
            server,
        ),
        Client(server) as client,
    ):
        client.decide(contested_snapshot())
        spans = received.until(lambda got: got.named("tenure.cycle"))
        line = received.until(lambda got: next(iter(got.lines), None))
        metric = received.until(lambda got: got.metrics.get("tenure_cycle_duration_seconds"))
    assert line.body.string_value.startswith("Legacy preemptibility: ")
    assert line.trace_id == spans[0].trace_id
    assert metric.histogram.data_points[0].count == 1
