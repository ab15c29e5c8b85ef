"""A job is known by its id, its user and its submit times: a crash gives its id to another job."""

import pytest
from tenure.slurm.observe.memory import JobMemories, JobMemory, as_submitted, remember
from tenure.slurm.observe.rows import JobRow


def job(submit: int, restarts: int = 0, user: int = 5, **fields: object) -> JobRow:
    defaults = {"node_count": 2, "max_nodes": 2, "required_nodes": "n7", "partition": "gpu"}
    state = str(fields.pop("job_state", "PENDING"))
    return JobRow(7, state, user, submit_time=submit, restart_cnt=restarts, **{**defaults, **fields})


def ending(submit: int, restarts: int) -> JobRow:
    return job(submit, restarts, job_state="COMPLETING", nodes="n[1-2]", max_nodes=0)


@pytest.mark.parametrize(
    ("listings", "first_submit"),
    [
        pytest.param([job(100)], 100, id="new"),
        pytest.param([job(100), job(100)], 100, id="unchanged"),
        pytest.param([job(100), job(150, 1)], 100, id="requeued"),
        pytest.param([job(100), ending(100, 1), job(150, 1)], 100, id="requeued-and-seen-while-it-ends"),
        pytest.param([job(100), job(150, 1), job(180, 2)], 100, id="requeued-twice"),
        pytest.param([job(100), job(150, 1), job(100)], 100, id="requeue-forgotten-by-a-crash"),
        pytest.param([job(100), job(150, 1), job(100), job(190, 1)], 100, id="requeued-after-a-crash"),
        pytest.param([job(100), job(150)], 150, id="id-given-to-another-job"),
        pytest.param([job(100), job(100, user=6)], 100, id="id-given-to-another-user"),
        pytest.param([job(100, 3), job(150, 2)], 150, id="id-given-to-another-job-with-restarts"),
        pytest.param(
            [job(100), job(150, 1), job(190, 1)], 100, id="requeued-after-a-crash-that-was-not-seen"
        ),
    ],
)
def test_identity(listings: list[JobRow], first_submit: int) -> None:
    memory: JobMemory | None = None
    for row in listings:
        memory = remember(row, memory)
    assert memory is not None
    assert memory.first_submit == first_submit
    assert memory.user_id == listings[-1].user_id


def test_placing_overwrites_the_nodes_that_the_user_requested() -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    memories.mark_placed("7")
    placed = job(100, required_nodes="n1,n2", max_nodes=0)
    row = as_submitted(placed, memories.update("7", placed))
    assert (row.required_nodes, row.node_count, row.max_nodes) == ("n7", 2, 2)


def test_edits_before_the_first_placing_count() -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    edited = job(100, node_count=3, max_nodes=3, required_nodes="")
    assert as_submitted(edited, memories.update("7", edited)).node_count == 3


def test_running_job_of_a_predecessor_keeps_its_number_of_nodes() -> None:
    running = job(100, nodes="n[1-2]", max_nodes=0)
    memory = remember(running, None)
    assert (memory.nodes, memory.max_nodes, memory.required_nodes) == (2, 2, "")


def test_only_changes_are_stored() -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    assert list(memories.changes) == ["7"]
    memories.changes = {}
    memories.update("7", job(100))
    assert memories.changes == {}
    memories.keep_only(set())
    assert memories.changes == {"7": None}


def test_run_ends_before_the_next_one_has_a_number() -> None:
    memories = JobMemories()
    listings = [job(100), ending(100, 1), job(150, 1), job(100)]
    assert [memories.update("7", row).restarts for row in listings] == [0, 0, 1, 0]


@pytest.mark.parametrize(("state", "lost"), [("PENDING", 0), ("RUNNING", 1)])
def test_run_after_a_crash_that_was_not_seen_has_another_number_if_one_was_started(
    state: str, lost: int
) -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    memories.mark_placed("7")
    for row in (job(150, 1, job_state=state), job(190, 1)):
        memory = memories.update("7", row)
    assert (memory.restarts, memory.lost_runs, memory.has_started) == (1, lost, False)


def test_start_that_the_adapter_did_not_see_to_its_end_is_one_as_well() -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    memories.mark_placed("7")
    assert [memories.update("7", row).lost_runs for row in (job(100, job_state="RUNNING"), job(100))] == [
        0,
        1,
    ]


def test_start_that_a_crash_of_the_controller_undid_is_another_run() -> None:
    memories = JobMemories()
    memories.update("7", job(100))
    memories.mark_placed("7")
    memories.mark_started("7")
    lost = [
        memories.update("7", row).lost_runs for row in (job(100, job_state="RUNNING"), job(100), job(100))
    ]
    assert lost == [0, 1, 1]
