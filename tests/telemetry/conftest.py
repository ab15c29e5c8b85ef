"""Servers of these tests export telemetry immediately."""

from collections.abc import Iterator

import pytest
from prometheus_client import Metric

from tests.telemetry.adapter_metrics_page import collect_adapter_metrics
from tests.telemetry.server_metrics_page import ServerMetrics, collect_server_metrics
from tests.telemetry.telemetry_server import export_immediately


@pytest.fixture(scope="session", autouse=True)
def _sent_at_once() -> Iterator[None]:
    with export_immediately():
        yield


@pytest.fixture(scope="session")
def server_metrics(tmp_path_factory: pytest.TempPathFactory) -> ServerMetrics:
    return collect_server_metrics(tmp_path_factory.mktemp("exposed"))


@pytest.fixture(scope="session")
def adapter_families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metric]:
    return collect_adapter_metrics(tmp_path_factory.mktemp("exposed-adapter"))
