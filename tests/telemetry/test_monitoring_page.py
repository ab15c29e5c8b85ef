"""docs/operate/monitoring.md: its example is a configuration, and each alert has a runbook entry."""

import re
from pathlib import Path

import yaml
from tenure.server.settings import load_settings

from tests.telemetry.external_programs import FILES, ROOT
from tests.telemetry.prometheus_queries import alerts

PAGE = (ROOT / "docs/operate/monitoring.md").read_text()


def test_example_is_a_valid_configuration(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "example.yaml"
    file.write_text(example)
    assert load_settings(file).telemetry.metrics_listen == "127.0.0.1:9464"


def test_each_alert_has_an_entry_in_the_order_of_the_file() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, re.MULTILINE) == [alert.location for alert in alerts()]


def test_each_alert_names_its_entry() -> None:
    (group,) = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["runbook"] == f"docs/operate/monitoring.md#{rule['alert'].lower()}"
