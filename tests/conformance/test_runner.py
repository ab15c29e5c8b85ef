"""An exception in a case fails the case, never the run."""

import time

import pytest

from tests.conformance.results import CaseVerdict
from tests.conformance.runner import run_case
from tests.conformance.small_cases import PENDING, case, expect, job, node, queue
from tests.conformance.time_limit import TimeLimitExceeded, time_limit


def test_amount_beyond_the_range_of_the_contract_fails_the_case() -> None:
    huge = job("huge", "queue0", [PENDING], gpus=2.0**70)
    expected = {"huge": expect("Pending", gpus=2.0**70)}
    result = run_case(case("huge", [node("node0", 1)], [queue("queue0", 1)], [huge], expected))
    assert result.verdict is CaseVerdict.FAILED
    assert result.details[0].startswith("ValueError at workload.py:")


def test_rejected_snapshot_fails_the_case_with_the_fields() -> None:
    lost = case("lost", [node("node0", 1)], [queue("queue0", 1, parent="nowhere")], [], {})
    assert "queues[0].parent" in run_case(lost).details[0]


def test_case_beyond_the_time_limit_is_stopped() -> None:
    with pytest.raises(TimeLimitExceeded), time_limit(0.01):
        time.sleep(1)
