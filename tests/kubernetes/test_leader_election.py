"""At most one adapter leads at a time, and it stops when its lease may have ended."""

from collections.abc import Callable
from threading import Thread

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.leader_election import LeaderElector

from tests.kubernetes.cluster import wait_until
from tests.kubernetes.fake_api_server.server import FakeApiServer

DURATION = 15.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/tenure-system/leases"
LEASE = f"{LEASES}/tenure"


class LeaseRace:
    """Several candidates for one lease, each with its own clock."""

    def __init__(self, transport: Transport) -> None:
        self.clocks: dict[str, float] = {}
        self._transport = transport

    def try_acquire(self, name: str, clock: float = 0.0) -> LeaderElector:
        self.clocks[name] = clock
        time: Callable[[], float] = lambda: self.clocks[name]  # noqa: E731
        return LeaderElector(self._transport, "tenure-system", "tenure", name, DURATION, time)

    def pass_time(self, seconds: float) -> None:
        for name in self.clocks:
            self.clocks[name] += seconds


@pytest.fixture
def race(transport: Transport) -> LeaseRace:
    return LeaseRace(transport)


def test_first_candidate_leads_and_second_is_standby(race: LeaseRace) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b", clock=1e6)
    for one in (a, b):
        one.try_once()
    assert (a.may_act(), b.may_act(), b.holder) == (True, False, "a")


def test_leader_without_renewal_stops_a_third_of_the_duration_before_expiry(
    race: LeaseRace, api: FakeApiServer
) -> None:
    a = race.try_acquire("a")
    a.try_once()
    api.faults.refuse("GET", LEASE, 500)
    race.pass_time(9.9)
    a.try_once()
    assert a.may_act()
    assert a.problem
    race.pass_time(0.2)
    assert not a.may_act()


def test_next_leader_takes_over_after_the_duration_on_its_own_clock(race: LeaseRace) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b", clock=-1e6)
    a.try_once()
    b.try_once()
    race.pass_time(14.9)
    b.try_once()
    assert not b.may_act()
    assert not a.may_act()
    race.pass_time(0.1)
    b.try_once()
    assert b.may_act()
    assert (a.term, b.term) == (0, 1)


def test_renewal_restarts_the_wait_of_other_candidates(race: LeaseRace) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b")
    a.try_once()
    b.try_once()
    for _ in range(5):
        race.pass_time(8)
        a.try_once()
        b.try_once()
        assert (a.may_act(), b.may_act()) == (True, False)


def test_paused_leader_detects_that_it_lost_the_lease(race: LeaseRace) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b")
    a.try_once()
    b.try_once()
    race.clocks["b"] += 15
    b.try_once()
    race.clocks["a"] += 15
    assert not a.may_act()
    a.try_once()
    assert (a.may_act(), b.may_act()) == (False, True)


def test_released_lease_is_free_immediately(race: LeaseRace) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b")
    a.try_once()
    a.stop()
    a.run()
    assert not a.may_act()
    b.try_once()
    assert b.may_act()


def test_leader_without_response_to_a_renewal_renews_again(race: LeaseRace, api: FakeApiServer) -> None:
    a = race.try_acquire("a")
    a.try_once()
    api.faults.cut("PUT", LEASE)
    race.pass_time(5)
    a.try_once()
    assert a.problem
    race.pass_time(4)
    a.try_once()
    assert not a.problem
    race.pass_time(9)
    assert a.may_act()


def test_one_of_two_concurrent_writers_leads(race: LeaseRace, api: FakeApiServer) -> None:
    a, b = race.try_acquire("a"), race.try_acquire("b")
    api.faults.slow("POST", LEASES, 0.3)
    slow = Thread(target=a.try_once)
    slow.start()
    wait_until(lambda: f"POST {LEASES}" in api.writes())
    b.try_once()
    slow.join()
    assert {a.may_act(), b.may_act()} == {False, True}
