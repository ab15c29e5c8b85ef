"""The files in docker/: queried metrics and labels exist, and external programs accept the files."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from prometheus_client import Metric
from tenure.server.settings import load_settings

from tests.telemetry.external_programs import FILES, ROOT, find_program
from tests.telemetry.prometheus_queries import SCRAPED, PrometheusQuery, alerts, dashboard
from tests.telemetry.server_metrics_page import ServerMetrics

QUERIES = [*dashboard(), *alerts()]
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def families(server_metrics: ServerMetrics, adapter_families: dict[str, Metric]) -> dict[str, Metric]:
    """Metric families of a real server and a real adapter."""
    return {**adapter_families, **server_metrics.families}


@pytest.fixture(scope="module")
def labels(families: dict[str, Metric]) -> dict[str, set[str]]:
    """Label names of every exposed series."""
    found = defaultdict(set, SCRAPED)
    for family in families.values():
        for sample in family.samples:
            found[sample.name] |= {*sample.labels, "job", "instance"}
    return dict(found)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.location}: {query.expression}"[:80])
def test_every_queried_metric_and_label_is_exposed(
    query: PrometheusQuery, labels: dict[str, set[str]]
) -> None:
    asked = query.metrics()
    assert asked
    for metric, about in asked.items():
        assert metric in labels
        assert about <= labels[metric]
    assert query.shown_labels <= set.union(*(labels[metric] for metric in asked))


def test_every_own_metric_is_on_the_dashboard_or_in_an_alert(families: dict[str, Metric]) -> None:
    asked = {metric for query in QUERIES for metric in query.metrics()}
    for name, family in families.items():
        if name.startswith(("tenure_", "kai_")):
            assert asked & {sample.name for sample in family.samples}, name


def promtool(*arguments: str) -> None:
    checked = subprocess.run(
        [find_program("promtool"), *arguments], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_prometheus_accepts_its_configuration_and_the_alerts() -> None:
    promtool("check", "config", str(FILES / "prometheus.yaml"))


def test_alerts_fire_as_specified() -> None:
    promtool("test", "rules", str(FILES / "alerts.test.yaml"))


def test_prometheus_accepts_the_dashboard_queries(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": query.expression} for number, query in enumerate(dashboard())
    ]
    file = tmp_path / "dashboard.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", "--lint=none", str(file))


def test_collector_accepts_its_configuration() -> None:
    command = [find_program("collector"), "validate", "--config", str(FILES / "collector.yaml")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_server_accepts_its_configuration() -> None:
    telemetry = load_settings(FILES / "tenure.yaml").telemetry
    assert telemetry.otlp_endpoint == "http://collector:4317"
    assert "collector" in COMPOSE["services"]


def test_compose_services_mount_existing_files_and_listen_on_loopback_only() -> None:
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            assert (ROOT / "docker" / volume.split(":")[0]).is_file()
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_panels_do_not_overlap() -> None:
    places = set()
    for panel in json.loads((FILES / "grafana" / "tenure.json").read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, panel["title"]
        places |= cells
