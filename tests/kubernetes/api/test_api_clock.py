"""The adapter uses the time of the API server when the clock of its machine is wrong."""

import time
from email.utils import formatdate

import pytest
from tenure.integration.timing import Clock
from tenure.kubernetes.api import api_clock
from tenure.kubernetes.api.api_clock import ApiClock


class FakeMachine:
    """Replaces the module `time` with a clock and a stopwatch that tests set."""

    def __init__(self) -> None:
        self.now, self.stopwatch = 1_800_000_000.4, 50.0

    def time_ns(self) -> int:
        return int(self.now * 1e9)

    def monotonic_ns(self) -> int:
        return int(self.stopwatch * 1e9)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.stopwatch += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    made = FakeMachine()
    monkeypatch.setattr(api_clock, "time", made)
    return made


def observe_response(api: ApiClock, machine: FakeMachine, server_ahead: float, latency: float = 0.0) -> None:
    """Observe a response of a server whose clock is ahead of the unmodified machine clock."""
    asked = machine.monotonic_ns()
    machine.advance(latency)
    api.observe(formatdate(machine.now + server_ahead, usegmt=True), asked)


def seconds(api: ApiClock) -> float:
    return api.read() / 1e9


@pytest.mark.parametrize("server_ahead", [0.0, 1.5, -1.5])
def test_plausible_local_clock_is_used(machine: FakeMachine, server_ahead: float) -> None:
    api = ApiClock()
    assert seconds(api) == pytest.approx(machine.now)
    observe_response(api, machine, server_ahead)
    machine.advance(7)
    assert seconds(api) == pytest.approx(machine.now)


@pytest.mark.parametrize("server_ahead", [3600.0, -3600.0, 5.0])
def test_wrong_local_clock_is_corrected(machine: FakeMachine, server_ahead: float) -> None:
    api = ApiClock()
    observe_response(api, machine, server_ahead)
    machine.advance(7)
    assert seconds(api) == pytest.approx(machine.now + server_ahead, abs=1.0)


def test_slow_response_does_not_correct_the_clock(machine: FakeMachine) -> None:
    api, asked = ApiClock(), machine.monotonic_ns()
    date = formatdate(machine.now, usegmt=True)
    machine.advance(8)
    api.observe(date, asked)
    assert seconds(api) == pytest.approx(machine.now)


def test_adjusted_local_clock_is_used_once_the_server_agrees(machine: FakeMachine) -> None:
    api = ApiClock()
    observe_response(api, machine, 0)
    machine.now += 3600
    machine.advance(1)
    assert seconds(api) == pytest.approx(machine.now - 3600)
    observe_response(api, machine, -3600)
    assert seconds(api) == pytest.approx(machine.now - 3600, abs=1.0)
    observe_response(api, machine, 0)
    assert seconds(api) == pytest.approx(machine.now)


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_response_without_date_is_ignored(machine: FakeMachine, date: str) -> None:
    api = ApiClock()
    api.observe(date, machine.monotonic_ns())
    assert seconds(api) == pytest.approx(machine.now)


def test_wrong_clock_is_logged_once_per_occurrence(
    machine: FakeMachine, caplog: pytest.LogCaptureFixture
) -> None:
    api = ApiClock()
    for server_ahead in (3600, 3600, 0, 3600):
        observe_response(api, machine, server_ahead)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_snapshot_times_never_decrease(machine: FakeMachine) -> None:
    api = ApiClock()
    now = Clock(api)
    before = now()
    observe_response(api, machine, -3600)
    assert now() == before
    assert now.remaining(None) is None
    assert now.remaining(machine.now - 3600 + 10) == pytest.approx(10, abs=1.0)


def test_the_stopwatch_is_that_of_the_transport() -> None:
    api, asked = ApiClock(), time.monotonic_ns()
    api.observe(formatdate(time.time() + 3600, usegmt=True), asked)
    assert seconds(api) == pytest.approx(time.time() + 3600, abs=2.0)
