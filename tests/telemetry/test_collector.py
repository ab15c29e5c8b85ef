"""The real collector, with the shipped configuration, exports all three signals."""

from pathlib import Path

from tenure.client import Client

from tests.telemetry.external_programs import run_collector
from tests.telemetry.otlp_receiver import run_receiver
from tests.telemetry.telemetry_server import METRICS_INTERVAL, contested_snapshot, run_telemetry_server


def test_traces_metrics_and_log_records_are_forwarded(tmp_path: Path) -> None:
    with (
        run_receiver() as (received, onward),
        run_collector(tmp_path, onward) as address,
        run_telemetry_server(
            tmp_path, otlpEndpoint=f"http://{address}", metricsInterval=METRICS_INTERVAL
        ) as (
            _,
            server,
        ),
        Client(server) as client,
    ):
        client.decide(contested_snapshot())
        spans = received.wait_until(lambda got: got.named("tenure.cycle"))
        line = received.wait_until(lambda got: next(iter(got.lines), None))
        metric = received.wait_until(lambda got: got.metrics.get("tenure_cycle_duration_seconds"))
    assert line.body.string_value.startswith("Legacy preemptibility: ")
    assert line.trace_id == spans[0].trace_id
    assert metric.histogram.data_points[0].count == 1
