"""Whether a held job still waits for others: Slurm itself does not look while a job is held."""

import pytest
from tenure.slurm.observe.dependencies import Dependencies
from tenure.slurm.observe.rows import JobRow

STATES = {1: "COMPLETED", 2: "FAILED", 3: "RUNNING", 4: "PENDING"}
TASKS = {0: "COMPLETED", 1: "RUNNING"}


def row(job_id: int, state: str, **fields: object) -> JobRow:
    return JobRow(job_id, state, 5, **fields)


LISTED = [row(id, state) for id, state in STATES.items()] + [
    row(20 + task, state, array_job_id=20, array_task_id=task) for task, state in TASKS.items()
]


@pytest.mark.parametrize(
    ("dependency", "is_satisfied"),
    [
        ("", True),
        ("afterok:1(unfulfilled)", True),
        ("afterok:2(unfulfilled)", False),
        ("afternotok:1(unfulfilled)", False),
        ("afternotok:2(unfulfilled)", True),
        ("afterany:2(unfulfilled)", True),
        ("afterany:3(unfulfilled)", False),
        ("after:3(unfulfilled)", True),
        ("after:4+5(unfulfilled)", False),
        ("afterok:1(unfulfilled),afterany:3(unfulfilled)", False),
        ("afterok:2(unfulfilled)?afterany:2(unfulfilled)", True),
        ("afterok:99(unfulfilled)", True),  # no longer listed
        ("afterok:20_0(unfulfilled)", True),
        ("afterok:20_1(unfulfilled)", False),
        ("afterok:20_*(unfulfilled)", False),
        ("expand:1", True),
        ("nonsense", False),
    ],
)
def test_dependencies(dependency: str, is_satisfied: bool) -> None:
    waiting = row(30, "PENDING", dependency=dependency)
    assert Dependencies([*LISTED, waiting]).is_satisfied(waiting) == is_satisfied


def test_singleton_waits_for_earlier_jobs_with_its_name() -> None:
    first, second = (row(id, "PENDING", name="train", dependency="singleton(unfulfilled)") for id in (30, 31))
    jobs = Dependencies([*LISTED, first, second])
    assert (jobs.is_satisfied(first), jobs.is_satisfied(second)) == (True, False)
