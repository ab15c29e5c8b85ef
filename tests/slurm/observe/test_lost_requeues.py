"""A job that ended because slurmctld forgot its requeue is requeued again, and no other job is."""

import pytest
from tenure.slurm.lost_requeues import LATEST_END_SECONDS, is_lost
from tenure.slurm.observe.memory import JobMemory
from tenure.slurm.observe.rows import JobRow

MEMORY = JobMemory(5, (100, 150, 201), 2, 1, 1, "", "", stopped_at=200)
STOPPED, BOOTED = 200, 203


def ended(state: str = "COMPLETED", end: int = 205, **fields: object) -> JobRow:
    others = {"submit_time": 150, "requeue": True, "batch_flag": True, "start_time": 160, "end_time": end}
    return JobRow(7, state, 5, **{**others, **fields})


@pytest.mark.parametrize(
    ("job", "is_due"),
    [
        pytest.param(ended(), True, id="completed-after-the-restart"),
        pytest.param(ended("FAILED"), True, id="failed-after-the-restart"),
        pytest.param(ended(end=202), False, id="completed-before-the-restart"),
        pytest.param(ended(end=STOPPED + LATEST_END_SECONDS + 1), False, id="completed-much-later"),
        pytest.param(ended("CANCELLED"), False, id="cancelled"),
        pytest.param(ended("TIMEOUT"), False, id="ran-out-of-time"),
        pytest.param(ended(submit_time=199), False, id="another-job"),
        pytest.param(ended(submit_time=201, start_time=201), False, id="the-next-run"),
        pytest.param(ended(requeue=False), False, id="must-not-be-requeued"),
        pytest.param(ended(batch_flag=False), False, id="interactive"),
    ],
)
def test_run_that_the_adapter_requeued(job: JobRow, is_due: bool) -> None:
    assert is_lost(job, MEMORY, lambda: BOOTED) == is_due


@pytest.mark.parametrize("boot_time", [0, 150, 199])
def test_without_a_restart_of_the_controller_nothing_was_forgotten(boot_time: int) -> None:
    assert not is_lost(ended(), MEMORY, lambda: boot_time)


@pytest.mark.parametrize(
    ("state", "reason", "is_due"),
    [
        ("NODE_FAIL", "JobLaunchFailure", True),
        ("NODE_FAIL", "NodeDown", False),
        ("FAILED", "JobLaunchFailure", False),
        ("COMPLETED", "None", False),
    ],
)
def test_run_that_is_missing_on_its_node_returns_after_any_requeue(
    state: str, reason: str, is_due: bool
) -> None:
    never_stopped = JobMemory(5, (150,), 0, 1, 1, "", "")
    assert is_lost(ended(state, state_reason=reason), never_stopped, lambda: BOOTED) == is_due
