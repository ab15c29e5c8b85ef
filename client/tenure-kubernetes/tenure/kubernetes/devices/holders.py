"""Which claim has which device, by the observed status of all claims of all allocators."""

from collections import defaultdict

from tenure.kubernetes.devices.inventory import DeviceId, device_of
from tenure.kubernetes.objects.device_claims import ResourceClaim


class DeviceHolders:
    """Claims by device, updated claim by claim."""

    def __init__(self) -> None:
        self._claims: defaultdict[DeviceId, set[str]] = defaultdict(set)
        self._devices: dict[str, frozenset[DeviceId]] = {}
        self.versions: dict[str, str] = {}
        """Observed versions of claims, by uid."""

    def put(self, uid: str, claim: ResourceClaim | None) -> None:
        """Update a claim; None: it is gone."""
        for device in self._devices.pop(uid, ()):
            self._claims[device].discard(uid)
            if not self._claims[device]:
                del self._claims[device]
        self.versions.pop(uid, None)
        if claim is None:
            return
        self.versions[uid] = claim.metadata.resource_version
        if claim.status.allocation is not None:
            devices = self._devices[uid] = exclusive_devices(claim)
            for device in devices:
                self._claims[device].add(uid)

    def of(self, device: DeviceId) -> frozenset[str]:
        """Uids of the claims that have a device; more than one is an error of an allocator."""
        return frozenset(self._claims.get(device, ()))

    def is_held(self, device: DeviceId) -> bool:
        """Whether a claim has a device."""
        return device in self._claims

    def twice(self) -> list[DeviceId]:
        """Devices that several claims have, in order."""
        return sorted(device for device, claims in self._claims.items() if len(claims) > 1)


def exclusive_devices(claim: ResourceClaim) -> frozenset[DeviceId]:
    """The devices of a claim; those with administrative access are used beside other claims."""
    results = claim.status.allocation.devices.results if claim.status.allocation is not None else []
    return frozenset(device_of(one) for one in results if not one.admin_access)
