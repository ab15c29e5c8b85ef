"""Of all installations in a cluster, one allocates devices; others name it."""

from collections.abc import Callable

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.device_lease import DeviceLease

SLICES = frozenset(("resource_slices",))
MakeLease = Callable[..., DeviceLease]


@pytest.fixture
def relisting() -> list[str]:
    """Installations that list all claims again."""
    return []


@pytest.fixture
def lease(transport: Transport, relisting: list[str]) -> MakeLease:
    transport.post("/api/v1/namespaces", {"metadata": {"name": "kube-system"}})

    def make(installation: str, leads: bool = True, followed: frozenset[str] = SLICES) -> DeviceLease:
        relist = relisting.append
        ports = (lambda: leads, lambda: None, lambda: relist(installation))
        return DeviceLease(transport, installation, 15.0, followed, *ports)

    return make


def test_first_installation_allocates_and_the_other_names_it(lease: MakeLease) -> None:
    a, b = lease("a/tenure"), lease("b/tenure")
    assert a.problem() == "lease kube-system/tenure-device-allocator is not acquired yet"
    for one in (a, b):
        one.renew()
    assert (a.may_act(), a.problem()) == (True, "")
    assert not b.may_act()
    assert b.problem() == (
        "devices are allocated by another adapter, a/tenure, "
        "which holds lease kube-system/tenure-device-allocator"
    )


def test_installation_that_takes_over_lists_all_claims_first(
    lease: MakeLease, transport: Transport, relisting: list[str]
) -> None:
    a, b = lease("a/tenure"), lease("b/tenure")
    a.renew()
    b.renew()
    transport.delete("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/tenure-device-allocator")
    b.renew()
    assert (b.may_act(), relisting) == (False, ["b/tenure"])
    after = lease("b/tenure")
    after.renew()
    assert (after.may_act(), relisting) == (True, ["b/tenure"])


def test_next_leader_of_an_installation_continues_at_once(lease: MakeLease) -> None:
    lease("a/tenure").renew()
    after = lease("a/tenure")
    after.renew()
    assert after.may_act()


def test_adapter_that_does_not_lead_neither_renews_nor_allocates(lease: MakeLease) -> None:
    standby, other = lease("a/tenure", leads=False), lease("b/tenure")
    standby.renew()
    other.renew()
    assert (standby.may_act(), other.may_act()) == (False, True)


def test_stopped_lease_allocates_no_more(lease: MakeLease) -> None:
    one = lease("a/tenure")
    one.renew()
    one.stop()
    assert not one.may_act()


def test_server_without_slices_is_told(lease: MakeLease) -> None:
    one = lease("a/tenure", followed=frozenset())
    one.renew()
    assert (one.may_act(), one.problem()) == (False, "the API server has no resource slices")
