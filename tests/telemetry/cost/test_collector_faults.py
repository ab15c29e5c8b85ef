"""A faulty collector does not delay calls or the exit of the server (F20)."""

import pytest
from tenure.process.telemetry import LAST_SECONDS

from tests.telemetry.cost.collector_faults import COLLECTORS, measure_cost

pytestmark = pytest.mark.long

CALLS = 60
MOST_MIB = 20


@pytest.mark.parametrize("collector", [name for name in COLLECTORS if name not in ("none", "well")])
def test_calls_continue_and_the_server_exits_with_a_failing_collector(collector: str) -> None:
    found = measure_cost(collector, CALLS)
    assert found.exit_code == 0
    assert found.end_seconds < LAST_SECONDS + 20
    assert found.grown_mib < MOST_MIB
    assert found.p99_ms < 1_000
