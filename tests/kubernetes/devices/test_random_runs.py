"""Two claims never get one device, and no pod on a node loses its devices."""

from collections import Counter

import pytest
from tenure.kubernetes.devices.inventory import DeviceId
from tenure.kubernetes.devices.ledger import DeviceLedger

from tests.kubernetes.devices.random_runs import RandomRun


def test_two_claims_never_get_one_device() -> None:
    total = Counter[str]()
    for seed in range(30):
        found = RandomRun(seed).run()
        assert (found.twice, found.wrong) == ([], []), seed
        total.update(found.counts)
    assert all(total[name] for name in ("allocated", "bound", "conflicts", "late", "lost", "restarts"))


def test_same_seed_is_the_same_run() -> None:
    assert RandomRun(7).run() == RandomRun(7).run()


def forgets_observed(ledger: DeviceLedger, device: DeviceId) -> bool:
    return device not in ledger._uses


def forgets_sent(ledger: DeviceLedger, device: DeviceId) -> bool:
    return not ledger._holders.is_held(device)


@pytest.mark.parametrize("is_free", [forgets_observed, forgets_sent])
def test_allocator_that_forgets_devices_is_found(monkeypatch: pytest.MonkeyPatch, is_free: object) -> None:
    monkeypatch.setattr(DeviceLedger, "is_free", is_free)
    assert any(RandomRun(seed).run().twice for seed in range(30))
