"""The journal carries how long pod groups ran that finished, and no more than its part of the store."""

from collections.abc import Sequence
from typing import Final

import pytest
from tenure.client import Client
from tenure.integration.fake_scheduler import START_SECONDS, FakeScheduler
from tenure.integration.journal import Journal
from tenure.integration.journal_format import pack_journal, unpack_journal
from tenure.integration.ports import FinishedRun
from tenure.integration.testing import crash_scenario
from tenure.wire.runtime_history import MAX_SIZES

PLENTY: Final = 10**6


def noted(runs: Sequence[FinishedRun], max_bytes: int = PLENTY) -> Journal:
    journal = Journal()
    for run in runs:
        journal.note_finished([run], max_bytes)
    return journal


def runtimes(journal: Journal) -> dict[str, dict[int, list[int]]]:
    rows = journal.carried["queue_runtimes"]
    return {name: {size.gpu_milli: [*size.seconds] for size in row.sizes} for name, row in rows.items()}


def test_runtimes_are_noted_by_queue_and_size() -> None:
    runs = [
        FinishedRun("a", 1_000, 10, 100),
        FinishedRun("a", 1_000, 20, 200),
        FinishedRun("a", 2_000, 30, 150),
        FinishedRun("b", 1_000, 40, 100),
    ]
    journal = noted(runs)
    assert runtimes(journal) == {"a": {1_000: [10, 20], 2_000: [30]}, "b": {1_000: [40]}}
    assert journal.carried["queue_runtimes"]["a"].time.seconds == 200


def test_runtimes_alone_cause_no_write_and_are_stored_with_the_next_one() -> None:
    journal = noted([FinishedRun("a", 1_000, 10, 100)])
    assert not journal.is_changed
    assert runtimes(unpack_journal(pack_journal(journal), "journal")) == {"a": {1_000: [10]}}


@pytest.mark.parametrize(
    "run",
    [
        FinishedRun("", 1_000, 10, 100),
        FinishedRun("a", 1_000, 63_000_000_000, 100),
        FinishedRun("a", 1_000, -1, 100),
    ],
    ids=["no queue", "two thousand years", "negative"],
)
def test_run_that_a_server_refuses_does_not_stop_the_adapter(client: Client, run: FinishedRun) -> None:
    scheduler = FakeScheduler(crash_scenario("finished", START_SECONDS))
    adapter = scheduler.start(client)
    try:
        adapter.reconcile()
        scheduler.finished = [run]
        adapter.reconcile()
        assert runtimes(adapter.journal) == {}
    finally:
        adapter.close()


def test_reconcile_sends_what_finished_with_its_rows(client: Client) -> None:
    scheduler = FakeScheduler(crash_scenario("finished", START_SECONDS))
    adapter = scheduler.start(client)
    try:
        adapter.reconcile()
        scheduler.finished = [FinishedRun("q", 1_000, 10, START_SECONDS)]
        adapter.reconcile()
        assert runtimes(adapter.journal) == {"q": {1_000: [10]}}
        assert scheduler.finished == []
        _, state = client.get_state(scheduler.rows.cluster_id, scheduler.rows.node_pool)
        rows = state.queue_runtimes
        assert [(row.queue, row.sizes[0].seconds) for row in rows] == [("q", [10])]
    finally:
        adapter.close()


@pytest.mark.parametrize("queues", [10, 300])
def test_runtimes_never_exceed_their_part_of_the_journal(queues: int) -> None:
    runs = [
        FinishedRun(f"q{queue}", 1_000 * size, 3_600, 1_000 * queue + size)
        for queue in range(queues)
        for size in range(MAX_SIZES)
    ]
    journal = noted(runs, 5_000)
    rows = journal.carried["queue_runtimes"]
    assert 0 < sum(row.ByteSize() for row in rows.values()) <= 5_000
    assert f"q{queues - 1}" in rows  # what finished last
    assert "q0" not in rows
