"""Rows of resource claims: what each requests or keeps, in devices of sets."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tenure.kubernetes.devices.device_sets import GPUS, DeviceSets
from tenure.kubernetes.devices.extended_resources import ExtendedClaim
from tenure.kubernetes.devices.holders import exclusive_devices
from tenure.kubernetes.devices.inventory import OfferedDevice
from tenure.kubernetes.devices.requests import ClaimNeeds
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.rows.pods import ON_NODE
from tenure.kubernetes.rows.row_table import RowTable
from tenure.kubernetes.volumes.matching import ClaimName
from tenure.v1 import snapshot_pb2 as pb

_POD = "Pod"


class ClaimRows:
    """Rows of claims by NAMESPACE/NAME, and which are to be updated."""

    def __init__(self, sets: DeviceSets) -> None:
        self._sets = sets
        self.table: RowTable[pb.ResourceClaim] = RowTable()
        self._noted: set[ClaimName] = set()

    def note(self, claims: Iterable[ClaimName]) -> None:
        """Update these claims next."""
        self._noted.update(claims)

    def take_noted(self) -> set[ClaimName]:
        """Claims to update, once."""
        noted, self._noted = self._noted, set()
        return noted

    def nodes_of(self, claim: ResourceClaim) -> set[str]:
        """Nodes of the counted devices that a claim has."""
        return {device.node for device in self._devices(claim) if self._sets.rivals(device.id)}

    def amounts(
        self, claim: ResourceClaim, needs: ClaimNeeds | None, extended: ExtendedClaim | None
    ) -> dict[str, int]:
        """Devices of each set that a claim has, or else requests.

        Of a claim for extended resources, without those that its pod requests as GPUs. `needs` are all that
        it can have: those that the claim of its node lacks are served by a device plugin.
        """
        if extended is not None and needs is not None:
            found = Counter(self._sets.allocated(device.id for device in self._devices(claim)))
            given = {one.name for one in claim.spec.devices.requests if claim.status.allocation is not None}
            left = tuple(one for one in needs.requests if one.name not in given)
            found.update(self._sets.requested(needs._replace(requests=left)))
            found[GPUS] -= extended.gpus
            return dict(sorted((+found).items()))
        if claim.status.allocation is not None:
            return self._sets.allocated(device.id for device in self._devices(claim))
        return {} if needs is None else self._sets.requested(needs)

    def remove(self, claim: ClaimName) -> None:
        """Remove the row of a claim."""
        self.table.put(f"{claim.namespace}/{claim.name}", None)

    def put(
        self, claim: ResourceClaim, amounts: Mapping[str, int], pods: Mapping[str, pb.Pod | None]
    ) -> None:
        """Set the row of a claim. `pods` are the rows of its pods; None: it has no row."""
        meta, allocation = claim.metadata, claim.status.allocation
        rows = {uid: row for uid, row in pods.items() if row is not None}
        others = sum(one.uid not in rows for one in claim.status.reserved_for)
        node = ""
        if allocation is not None:
            is_on_node = any(row.status in ON_NODE for row in rows.values())
            is_charged = is_on_node or (claim.status.reserved_for and not others)
            (node,) = self.nodes_of(claim) if not is_charged else ("",)
        id = f"{meta.namespace}/{meta.name}"
        row = pb.ResourceClaim(
            id=id,
            requests=[pb.DeviceRequest(device_class=name, count=count) for name, count in amounts.items()],
            from_template=any(owner.kind == _POD for owner in meta.owner_references)
            and len(rows) <= 1
            and not others,
            queue=meta.labels.get(names.QUEUE, ""),
            node=node,
            other_consumers=others,
        )
        self.table.put(id, row)

    def _devices(self, claim: ResourceClaim) -> list[OfferedDevice]:
        known = self._sets.inventory.devices
        return [known[device] for device in sorted(exclusive_devices(claim)) if device in known]
