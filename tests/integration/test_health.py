"""Health responses to a kubelet."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from tenure.integration.health import Health, HealthServer

_NOW = [Health()]


@pytest.fixture
def probes() -> Iterator[HealthServer]:
    made = HealthServer("127.0.0.1:0", lambda: _NOW[0])
    yield made
    made.close()


def probe(probes: HealthServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{probes.address}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode().strip()


@pytest.mark.parametrize(
    ("health", "live", "ready"),
    [
        (Health(), (200, "ok"), (200, "ok")),
        (Health(waiting_for="no server"), (200, "ok"), (503, "no server")),
        (Health(stuck="dead"), (503, "dead"), (503, "dead")),
    ],
)
def test_missing_dependency_means_not_ready_and_stuck_adapter_means_unhealthy(
    probes: HealthServer, health: Health, live: tuple[int, str], ready: tuple[int, str]
) -> None:
    _NOW[0] = health
    assert (probe(probes, "/healthz"), probe(probes, "/readyz?verbose")) == (live, ready)
    assert probe(probes, "/other")[0] == 404
