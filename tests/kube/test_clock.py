"""An adapter goes by the time of the API server where its own machine is wrong."""

import time
from email.utils import formatdate

import pytest
from tenure.client.kubernetes import clock
from tenure.client.kubernetes.clock import ApiClock, Clock


class Machine:
    """A clock and a stopwatch that go as they are told, in place of the module `time`."""

    def __init__(self) -> None:
        self.now, self.stopwatch = 1_800_000_000.4, 50.0

    def time_ns(self) -> int:
        return int(self.now * 1e9)

    def monotonic_ns(self) -> int:
        return int(self.stopwatch * 1e9)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.stopwatch += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(clock, "time", made)
    return made


def hear(api: ApiClock, machine: Machine, server_ahead: float, latency: float = 0.0) -> None:
    """An answer of a server whose clock is ahead of what the machine's would be if nobody had set it."""
    asked = machine.monotonic_ns()
    machine.passes(latency)
    api.hear(formatdate(machine.now + server_ahead, usegmt=True), asked)


def seconds(api: ApiClock) -> float:
    return api.read() / 1e9


@pytest.mark.parametrize("server_ahead", [0.0, 1.5, -1.5])
def test_a_clock_that_may_be_right_is_right(machine: Machine, server_ahead: float) -> None:
    api = ApiClock()
    assert seconds(api) == pytest.approx(machine.now)
    hear(api, machine, server_ahead)
    machine.passes(7)
    assert seconds(api) == pytest.approx(machine.now)


@pytest.mark.parametrize("server_ahead", [3600.0, -3600.0, 5.0])
def test_a_clock_that_is_wrong_is_not_gone_by(machine: Machine, server_ahead: float) -> None:
    api = ApiClock()
    hear(api, machine, server_ahead)
    machine.passes(7)
    assert seconds(api) == pytest.approx(machine.now + server_ahead, abs=1.0)


def test_a_slow_answer_says_less_and_is_no_reason_to_doubt(machine: Machine) -> None:
    api, asked = ApiClock(), machine.monotonic_ns()
    date = formatdate(machine.now, usegmt=True)
    machine.passes(8)
    api.hear(date, asked)
    assert seconds(api) == pytest.approx(machine.now)


def test_a_clock_that_is_set_changes_nothing_until_the_server_agrees(machine: Machine) -> None:
    api = ApiClock()
    hear(api, machine, 0)
    machine.now += 3600
    machine.passes(1)
    assert seconds(api) == pytest.approx(machine.now - 3600)
    hear(api, machine, -3600)
    assert seconds(api) == pytest.approx(machine.now - 3600, abs=1.0)
    hear(api, machine, 0)
    assert seconds(api) == pytest.approx(machine.now)


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_an_answer_without_a_time_says_nothing(machine: Machine, date: str) -> None:
    api = ApiClock()
    api.hear(date, machine.monotonic_ns())
    assert seconds(api) == pytest.approx(machine.now)


def test_it_is_told_once_while_it_is_so(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    api = ApiClock()
    for server_ahead in (3600, 3600, 0, 3600):
        hear(api, machine, server_ahead)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_snapshots_never_go_back_in_time(machine: Machine) -> None:
    api = ApiClock()
    now = Clock(api)
    before = now()
    hear(api, machine, -3600)
    assert now() == before
    assert now.left(None) is None
    assert now.left(machine.now - 3600 + 10) == pytest.approx(10, abs=1.0)


def test_the_stopwatch_is_that_of_the_transport() -> None:
    api, asked = ApiClock(), time.monotonic_ns()
    api.hear(formatdate(time.time() + 3600, usegmt=True), asked)
    assert seconds(api) == pytest.approx(time.time() + 3600, abs=2.0)
