"""docs/reference/metrics.md names every metric, span and log field, and its example is valid."""

import re
from pathlib import Path

import pytest
from prometheus_client import Metric
from pydantic.alias_generators import to_camel
from tenure.integration import telemetry as kit_telemetry
from tenure.kubernetes import telemetry
from tenure.process.values import Logs, TelemetrySection
from tenure.server.settings import load_settings
from tenure.server.telemetry import cycle_spans

from tests.telemetry.external_programs import ROOT
from tests.telemetry.server_metrics_page import ServerMetrics

PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
KEYS = (ROOT / "docs" / "reference" / "configuration.md").read_text()


def test_every_metric_is_on_the_page(
    server_metrics: ServerMetrics, adapter_families: dict[str, Metric]
) -> None:
    documented = set(re.findall(r"`((?:tenure|kai_scheduler)_\w+)`", PAGE))
    shown = {
        f"{name}_total" if family.type == "counter" else name
        for name, family in (*server_metrics.families.items(), *adapter_families.items())
        if name.startswith(("tenure_", "kai_"))
    }
    assert documented == shown


def test_every_span_and_attribute_is_on_the_page() -> None:
    adapter = {**vars(kit_telemetry), **vars(telemetry)}
    both = {**vars(cycle_spans), **{f"ADAPTER_{name}": value for name, value in adapter.items()}}
    spelled = {value for name, value in both.items() if name.isupper() and isinstance(value, str)}
    assert [name for name in spelled | set(cycle_spans.SPAN_OF.values()) if f"`{name}" not in PAGE] == []


def test_example_of_the_page_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    file = tmp_path / "example.yaml"
    file.write_text(example)
    assert load_settings(file).telemetry.metrics_listen == "127.0.0.1:9464"


def test_every_key_is_on_the_page_of_the_configuration() -> None:
    keys = [to_camel(name) for name in TelemetrySection.model_fields if name != "logs"]
    keys += [f"logs.{name}" for name in Logs.model_fields]
    assert [key for key in keys if f"| `{key}` |" not in KEYS] == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            "{otlpEndpoint: collector}",
            "telemetry.otlpEndpoint: must be an address such as http://127.0.0.1:4317",
        ),
        ("{otlpEndpoint: 'http://c:4317/v1/traces'}", "telemetry.otlpEndpoint: must be an address"),
        ("{sampleRatio: 2}", "telemetry.sampleRatio: must be at most 1"),
        ("{metricsListen: '9464'}", "telemetry.metricsListen: must be HOST:PORT, such as 127.0.0.1:9464"),
        ("{metricsInterval: 5}", "telemetry.metricsInterval: '5' is not a duration"),
        ("{logs: {levle: debug}}", "telemetry.logs.levle: unknown key; did you mean level?"),
    ],
)
def test_error_has_its_path_and_the_fix(text: str, path: str, tmp_path: Path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text(f"telemetry: {text}")
    with pytest.raises(ValueError, match=re.escape(path)):
        load_settings(file)
