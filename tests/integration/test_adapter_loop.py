"""The loop of an adapter: leadership terms, pauses, and recovery."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from tenure.client import Client
from tenure.integration.adapter_loop import AdapterLoop
from tenure.integration.fake_scheduler import START_SECONDS, FakeScheduler
from tenure.integration.leadership_term import TermControl
from tenure.integration.ports import ClusterError, JournalUnreadable
from tenure.integration.reconciler import ClusterPorts
from tenure.integration.testing import CRASH_EFFECTS, crash_scenario
from tenure.integration.timing import Clock
from tenure.v1.report_pb2 import ReportResultsRequest, ReportResultsResponse


class ReportingClient:
    """A client whose reports the scheduler observes."""

    def __init__(self, client: Client, scheduler: FakeScheduler) -> None:
        self._client, self._scheduler = client, scheduler

    def report_results(self, request: ReportResultsRequest) -> ReportResultsResponse:
        return self._scheduler.send_report(self._client, request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class FakeConnection:
    """A connection and an observation of a FakeScheduler, and the loop on it."""

    def __init__(self, name: str, client: Client) -> None:
        self.scheduler = FakeScheduler(crash_scenario(name, START_SECONDS))
        self.ports = ClusterPorts(self.scheduler, self.scheduler, self.scheduler, self.scheduler)
        self.problem, self.stuck = "", ""
        self.terms: list[TermControl] = []
        self.failures: list[Exception] = []
        reporting: Any = ReportingClient(client, self.scheduler)
        self.loop = AdapterLoop(self, reporting, self.scheduler, Clock(self), "test")

    def read(self) -> int:
        return self.scheduler.now().ToNanoseconds()

    def journal_store(self, term: TermControl) -> FakeScheduler:
        return self.scheduler

    @contextmanager
    def observe(self, term: TermControl) -> Iterator["FakeConnection"]:
        self.terms.append(term)
        if self.failures:
            raise self.failures.pop()
        yield self

    def play(self) -> None:
        """Advance time, as the cluster does, and wake the adapter."""
        self.scheduler.pass_time(1)
        if self.terms:
            self.terms[-1].wake()

    def is_done(self) -> bool:
        return dict(self.scheduler.applied) == CRASH_EFFECTS


@pytest.fixture
def connection(request: pytest.FixtureRequest, client: Client) -> FakeConnection:
    return FakeConnection(request.node.name, client)


@contextmanager
def running(connection: FakeConnection) -> Iterator[AdapterLoop]:
    def run() -> None:
        with suppress(JournalUnreadable):
            connection.loop.run()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield connection.loop
    finally:
        connection.loop.stop()
        thread.join(60)
        assert not thread.is_alive()


def wait_until(connection: FakeConnection, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
        connection.play()


def test_leader_applies_decisions_until_it_is_stopped(connection: FakeConnection) -> None:
    with running(connection) as loop:
        wait_until(connection, connection.is_done)
        wait_until(connection, lambda: loop.problem == "")
    assert len(connection.terms) == 1
    assert loop.is_stopped


def test_standby_does_not_observe(connection: FakeConnection) -> None:
    connection.scheduler.is_leader = False
    with running(connection) as loop:
        time.sleep(0.5)
        assert (connection.terms, loop.problem) == ([], "")


def test_term_of_another_adapter_starts_a_new_observation(connection: FakeConnection) -> None:
    scheduler = connection.scheduler
    with running(connection):
        wait_until(connection, lambda: bool(scheduler.calls))
        may_act = connection.terms[0].may_act
        scheduler.term = 2
        wait_until(connection, connection.is_done)
        assert not may_act()
    assert len(connection.terms) == 2


def test_uncertain_leadership_pauses_the_term(connection: FakeConnection) -> None:
    scheduler = connection.scheduler
    with running(connection) as loop:
        wait_until(connection, lambda: bool(scheduler.calls))
        scheduler.is_leader = False
        wait_until(connection, lambda: loop.problem == "the lease could not be renewed")
        scheduler.is_leader = True
        wait_until(connection, connection.is_done)
    assert len(connection.terms) == 1


def test_outdated_observation_pauses_reconciles(connection: FakeConnection) -> None:
    connection.problem = "nodes: not listed yet"
    with running(connection) as loop:
        wait_until(connection, lambda: loop.problem == "nodes: not listed yet")
        assert connection.scheduler.calls == []
        connection.problem = ""
        wait_until(connection, connection.is_done)


def test_replaced_journal_ends_the_term(connection: FakeConnection) -> None:
    with running(connection):
        wait_until(connection, lambda: bool(connection.scheduler.calls))
        connection.scheduler.replace_journal()
        wait_until(connection, connection.is_done)
        wait_until(connection, lambda: len(connection.terms) == 2)


def test_failed_observation_is_retried(connection: FakeConnection) -> None:
    connection.failures.append(ClusterError("GET /api/v1: 500"))
    with running(connection) as loop:
        wait_until(connection, lambda: loop.problem == "GET /api/v1: 500")
        wait_until(connection, connection.is_done)


def test_unreadable_journal_ends_the_loop(connection: FakeConnection) -> None:
    connection.scheduler.content = b"junk"
    with pytest.raises(JournalUnreadable, match="the journal in memory is corrupt; delete it"):
        connection.loop.run()
