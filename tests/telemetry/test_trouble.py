"""A collector in trouble holds nobody up, and does not keep the server from ending (F20)."""

import pytest
from tenure.server.telemetry.providers import LAST_SECONDS

from tests.telemetry.trouble import COLLECTORS, cost

CALLS = 60
MOST_MIB = 20


@pytest.mark.parametrize("collector", [name for name in COLLECTORS if name not in ("none", "well")])
def test_calls_go_on_and_the_server_ends(collector: str) -> None:
    found = cost(collector, CALLS)
    assert found.exit_code == 0
    assert found.end_seconds < LAST_SECONDS + 3
    assert found.grown_mib < MOST_MIB
    assert found.p99_ms < 1_000
