"""What an adapter exposes for Prometheus: names, labels and values."""

import json
from pathlib import Path

import pytest
from prometheus_client import Metric

from tests.kube.adapting import adapting, arguments
from tests.kube.cluster import eventually
from tests.kube.fake.server import serving
from tests.telemetry.exposed_adapter import LISTS_REFUSED

KAI = "podgroups.scheduling.run.ai"


@pytest.mark.parametrize(
    ("sample", "labels", "least", "most"),
    [
        ("tenure_adapter_leads", {"lease": "life/tenure"}, 1, 1),
        ("tenure_adapter_rounds_total", {"result": "decided"}, 1, 9),
        ("tenure_adapter_lag_seconds_count", {}, 1, 9),
        ("tenure_adapter_steps_total", {"step": "bind", "result": "applied"}, 2, 2),
        ("tenure_adapter_groups_to_retry", {}, 0, 0),
        ("tenure_adapter_changes_total", {"resource": KAI}, 1, 9),
        ("tenure_adapter_lists_total", {"resource": "nodes"}, 1, 1),
        ("tenure_adapter_watches_total", {"resource": "pods"}, 1, 1),
        (
            "tenure_adapter_observing_failures_total",
            {"resource": "nodes", "cause": "broken"},
            LISTS_REFUSED,
            LISTS_REFUSED,
        ),
        (
            "tenure_adapter_api_call_duration_seconds_count",
            {"method": "POST", "resource": "pods/binding", "result": "ok"},
            2,
            2,
        ),
    ],
)
def test_what_happened_is_counted(
    sample: str, labels: dict[str, str], least: float, most: float, adapter_families: dict[str, Metric]
) -> None:
    samples = [one for family in adapter_families.values() for one in family.samples]
    (value,) = [one.value for one in samples if one.name == sample and one.labels == labels]
    assert least <= value <= most


def test_an_adapter_shows_nothing_of_a_server(adapter_families: dict[str, Metric]) -> None:
    ours = [name for name in adapter_families if name.startswith(("tenure_", "kai_"))]
    assert [name for name in ours if not name.startswith("tenure_adapter_")] == []


def test_lines_are_objects_if_asked_for_and_their_level_is_read_again_on_sighup(tmp_path: Path) -> None:
    file = tmp_path / "adapter.yaml"
    file.write_text(json.dumps({"adapter": {}, "telemetry": {"logs": {"format": "json"}}}))
    with serving(tmp_path) as api:
        told = arguments(api, "127.0.0.1:1", "n")
        with adapting(tmp_path / "adapter.log", *told, "--config", str(file)) as adapter:
            eventually(lambda: '"level": "warning"' in adapter.output)
            file.write_text(json.dumps({"adapter": {}, "telemetry": {"logs": {"level": "debug"}}}))
            adapter.hang_up()
            eventually(lambda: "from level debug on" in adapter.output)
            lines = [line for line in adapter.output.splitlines() if not line.startswith("tenure: ")]
    assert {json.loads(line)["level"] for line in lines} <= {"info", "warning"}
