"""Devices of allocations that were sent and are not observed yet.

A device is free if no observed claim has it, and no write that may still arrive gives it to one. A write has
the version of the claim as its precondition, so it can no longer arrive when a later version is observed.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tenure.kubernetes.devices.allocation import ChosenDevice
from tenure.kubernetes.devices.holders import DeviceHolders
from tenure.kubernetes.devices.inventory import DeviceId
from tenure.kubernetes.objects.device_claims import ResourceClaim


class SentAllocation(NamedTuple):
    """An allocation of a claim that was sent."""

    node: str
    chosen: tuple[ChosenDevice, ...]
    pods: frozenset[str]
    """Uids of the pods that the claim is reserved for."""
    version: str
    """Version of the claim in which it is visible; if that is unknown, the version that it requires."""
    is_applied: bool

    @property
    def devices(self) -> Iterator[DeviceId]:
        """Its devices."""
        return (one.device for one in self.chosen)


class DeviceLedger:
    """Sent allocations by uid of the claim. For one thread."""

    def __init__(self, holders: DeviceHolders, find: Callable[[str], ResourceClaim | None]) -> None:
        """`find` returns claims by uid, perhaps newer ones than the observed ones of `holders`."""
        self._holders, self._find = holders, find
        self._sent: dict[str, list[SentAllocation]] = {}
        self._uses: dict[DeviceId, set[str]] = {}

    def settle(self) -> None:
        """Forget allocations whose outcome is observed."""
        for uid, sent in list(self._sent.items()):
            left = [] if uid not in self._holders.versions else self._undecided(uid, sent)
            if len(left) < len(sent):
                self._replace(uid, left)

    def _undecided(self, uid: str, sent: list[SentAllocation]) -> list[SentAllocation]:
        """Those of the allocations of a claim whose outcome is not observed."""
        observed, claim = self._holders.versions[uid], self._find(uid)
        left = [one for one in sent if not _is_decided(one, observed)]
        if claim is None or claim.status.allocation is not None:
            return left
        newest = claim.metadata.resource_version
        return [one for one in left if one.is_applied or not _is_decided(one, newest)]

    def is_free(self, device: DeviceId) -> bool:
        """Whether no claim has a device, or may get it."""
        return device not in self._uses and not self._holders.is_held(device)

    def applied(self, claim: str) -> SentAllocation | None:
        """The allocation of a claim that is applied and not observed yet; None: there is none."""
        return next((one for one in self._sent.get(claim, ()) if one.is_applied), None)

    def undecided(self, claim: str, node: str) -> SentAllocation | None:
        """An allocation of a claim on a node that may still arrive, and can be sent again."""
        sent = (one for one in self._sent.get(claim, ()) if one.node == node and not one.is_applied)
        return next(sent, None)

    def all_undecided(self) -> list[tuple[str, str]]:
        """Claims with an allocation that may still arrive, and the version that it requires."""
        return [(uid, one.version) for uid, sent in self._sent.items() for one in sent if not one.is_applied]

    def add(self, claim: str, sent: SentAllocation) -> None:
        """Note an allocation before it is sent."""
        self._replace(claim, [*self._sent.get(claim, ()), sent])

    def change(self, claim: str, before: SentAllocation, after: SentAllocation | None) -> None:
        """Note the response to an allocation; None: it did not arrive, and never will."""
        left = [one for one in self._sent.get(claim, ()) if one is not before]
        self._replace(claim, left if after is None else [*left, after])

    def _replace(self, claim: str, sent: list[SentAllocation]) -> None:
        for one in self._sent.pop(claim, ()):
            for device in one.devices:
                if uses := self._uses.get(device):
                    uses.discard(claim)
                    if not uses:
                        del self._uses[device]
        if sent:
            self._sent[claim] = sent
        for one in sent:
            for device in one.devices:
                self._uses.setdefault(device, set()).add(claim)


def _is_decided(sent: SentAllocation, observed: str) -> bool:
    """Whether a version shows the outcome of an allocation. Versions of a collection are ordered numbers."""
    if not (observed.isdecimal() and sent.version.isdecimal()):
        return False
    return int(observed) >= int(sent.version) if sent.is_applied else int(observed) > int(sent.version)
