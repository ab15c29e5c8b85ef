"""One leads at a time, and knows when it may no longer act."""

from collections.abc import Callable
from threading import Thread

import pytest
from tenure.client.kubernetes.leading import Leading
from tenure.client.kubernetes.transport import Transport

from tests.kube.cluster import eventually
from tests.kube.fake.server import FakeApiServer

DURATION = 15.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/tenure-system/leases"
LEASE = f"{LEASES}/tenure"


class Race:
    """Several who want one lease, with clocks of their own."""

    def __init__(self, transport: Transport) -> None:
        self.clocks: dict[str, float] = {}
        self._transport = transport

    def comes(self, name: str, clock: float = 0.0) -> Leading:
        self.clocks[name] = clock
        time: Callable[[], float] = lambda: self.clocks[name]  # noqa: E731
        return Leading(self._transport, "tenure-system", "tenure", name, DURATION, time)

    def pass_time(self, seconds: float) -> None:
        for name in self.clocks:
            self.clocks[name] += seconds


@pytest.fixture
def race(transport: Transport) -> Race:
    return Race(transport)


def test_the_first_leads_and_the_second_waits(race: Race) -> None:
    a, b = race.comes("a"), race.comes("b", clock=1e6)
    for one in (a, b):
        one.try_once()
    assert (a.may_act, b.may_act, b.holder) == (True, False, "a")


def test_whoever_cannot_renew_stops_a_third_of_the_duration_before_the_lease_is_over(
    race: Race, api: FakeApiServer
) -> None:
    a = race.comes("a")
    a.try_once()
    api.faults.refuse("GET", LEASE, 500)
    race.pass_time(9.9)
    a.try_once()
    assert a.may_act
    assert a.problem
    race.pass_time(0.2)
    assert not a.may_act


def test_the_next_takes_over_only_when_the_duration_is_over_by_its_own_clock(race: Race) -> None:
    a, b = race.comes("a"), race.comes("b", clock=-1e6)
    a.try_once()
    b.try_once()
    race.pass_time(14.9)
    b.try_once()
    assert not b.may_act
    assert not a.may_act
    race.pass_time(0.1)
    b.try_once()
    assert b.may_act
    assert b.transitions == a.transitions + 1


def test_a_renewal_starts_the_wait_of_the_others_anew(race: Race) -> None:
    a, b = race.comes("a"), race.comes("b")
    a.try_once()
    b.try_once()
    for _ in range(5):
        race.pass_time(8)
        a.try_once()
        b.try_once()
        assert (a.may_act, b.may_act) == (True, False)


def test_one_that_was_stopped_for_long_learns_that_it_leads_no_more(race: Race) -> None:
    a, b = race.comes("a"), race.comes("b")
    a.try_once()
    b.try_once()
    race.clocks["b"] += 15
    b.try_once()
    race.clocks["a"] += 15
    assert not a.may_act
    a.try_once()
    assert (a.may_act, b.may_act) == (False, True)


def test_a_lease_that_is_given_back_is_free_at_once(race: Race) -> None:
    a, b = race.comes("a"), race.comes("b")
    a.try_once()
    a.stop()
    a.run()
    assert not a.may_act
    b.try_once()
    assert b.may_act


def test_whoever_heard_no_answer_to_a_renewal_goes_on_with_the_next(race: Race, api: FakeApiServer) -> None:
    a = race.comes("a")
    a.try_once()
    api.faults.cut("PUT", LEASE)
    race.pass_time(5)
    a.try_once()
    assert a.problem
    race.pass_time(4)
    a.try_once()
    assert not a.problem
    race.pass_time(9)
    assert a.may_act


def test_of_two_that_write_at_once_one_leads(race: Race, api: FakeApiServer) -> None:
    a, b = race.comes("a"), race.comes("b")
    api.faults.slow("POST", LEASES, 0.3)
    slow = Thread(target=a.try_once)
    slow.start()
    eventually(lambda: f"POST {LEASES}" in api.writes())
    b.try_once()
    slow.join()
    assert (a.may_act, b.may_act) == (False, True)
