"""Prometheus metrics of the adapter: names, labels and values."""

import json
from pathlib import Path

import pytest
from prometheus_client import Metric

from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.fake_api_server.server import run_fake_api_server
from tests.telemetry.adapter_metrics_page import LISTS_REJECTED

KAI = "podgroups.scheduling.run.ai"


@pytest.mark.parametrize(
    ("sample", "labels", "least", "most"),
    [
        ("tenure_adapter_is_leader", {"lease": "life/tenure"}, 1, 1),
        ("tenure_adapter_reconciles_total", {"result": "decided"}, 1, 9),
        ("tenure_adapter_lag_seconds_count", {}, 1, 9),
        ("tenure_adapter_apply_attempts_total", {"kind": "bind", "result": "applied"}, 2, 2),
        ("tenure_adapter_groups_retrying", {}, 0, 0),
        ("tenure_adapter_object_changes_total", {"resource": KAI}, 1, 9),
        ("tenure_adapter_lists_total", {"resource": "nodes"}, 1, 1),
        ("tenure_adapter_watches_total", {"resource": "pods"}, 1, 1),
        (
            "tenure_adapter_list_watch_failures_total",
            {"resource": "nodes", "cause": "broken"},
            LISTS_REJECTED,
            LISTS_REJECTED,
        ),
        (
            "tenure_adapter_api_call_duration_seconds_count",
            {"method": "POST", "resource": "pods/binding", "result": "ok"},
            2,
            2,
        ),
    ],
)
def test_events_are_counted(
    sample: str, labels: dict[str, str], least: float, most: float, adapter_families: dict[str, Metric]
) -> None:
    samples = [one for family in adapter_families.values() for one in family.samples]
    (value,) = [one.value for one in samples if one.name == sample and one.labels == labels]
    assert least <= value <= most


def test_adapter_exposes_no_server_metrics(adapter_families: dict[str, Metric]) -> None:
    ours = [name for name in adapter_families if name.startswith(("tenure_", "kai_"))]
    assert [name for name in ours if not name.startswith("tenure_adapter_")] == []


def test_log_format_is_configurable_and_level_is_reloaded_on_sighup(tmp_path: Path) -> None:
    file = tmp_path / "adapter.yaml"
    file.write_text(json.dumps({"adapter": {}, "telemetry": {"logs": {"format": "json"}}}))
    with run_fake_api_server(tmp_path) as api:
        arguments = adapter_arguments(api, "127.0.0.1:1", "n")
        with run_adapter(tmp_path / "adapter.log", *arguments, "--config", str(file)) as adapter:
            wait_until(lambda: '"level": "warning"' in adapter.output)
            file.write_text(json.dumps({"adapter": {}, "telemetry": {"logs": {"level": "debug"}}}))
            adapter.hang_up()
            wait_until(lambda: "Log level set to debug" in adapter.output)
            lines = [line for line in adapter.output.splitlines() if not line.startswith("tenure: ")]
    assert {json.loads(line)["level"] for line in lines} <= {"info", "warning"}
