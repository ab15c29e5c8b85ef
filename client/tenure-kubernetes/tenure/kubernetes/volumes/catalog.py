"""Volume claims and what can serve them: volumes, storage classes, drivers and their capacity.

    claim ── bound ─────────────► its volume
          ── class waits ───────► the smallest free volume that matches, else a new one by the provisioner
          ── class does not wait: the volume controller binds it, whatever a scheduler does

The rules are those of kube-scheduler; see `matching`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.storage import PersistentVolume, StorageCapacity, StorageClass, VolumeClaim
from tenure.kubernetes.rows.indexes import drop
from tenure.kubernetes.volumes.matching import (
    ClaimName,
    class_name,
    class_of_volume,
    fits,
    is_for,
    is_free,
    largest_volume,
    name_of,
    nodes_of,
    request_of,
    storage_amount,
    term_of_topology,
)
from tenure.kubernetes.volumes.node_terms import ANYWHERE, NOWHERE, AnyOf, term_of_labels, unite

_WAITS: Final = "WaitForFirstConsumer"
_NO_PROVISIONER: Final = ("", "kubernetes.io/no-provisioner")


class _Offers(NamedTuple):
    """What claims with equal requests can have."""

    volumes: tuple[str, ...]
    """Uids of free volumes, the smallest first."""
    nodes: AnyOf


class Catalog:
    """Claims by name, volumes by name, and free volumes and capacity by storage class."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._caches = caches
        self._claims: dict[ClaimName, str] = {}
        """Uids by name."""
        self._known_claims: dict[str, tuple[ClaimName, str]] = {}
        """Name of each claim and of its volume, by uid."""
        self._named_by: dict[str, ClaimName] = {}
        """The claim that names a volume, by the name of the volume; of several, the last one."""
        self._volumes: dict[str, str] = {}
        self._volume_names: dict[str, str] = {}
        self._classes: dict[str, StorageClass] = {}
        self._tracked: frozenset[str] = frozenset()
        """Drivers that publish capacity."""
        self._capacities: dict[str, list[StorageCapacity]] = {}
        self._free: defaultdict[str, set[str]] = defaultdict(set)
        """Uids of volumes without a bound claim, by class."""
        self._class_of_free: dict[str, str] = {}
        self._waiting_for: defaultdict[ClaimName, set[str]] = defaultdict(set)
        """Uids of volumes that name a claim."""
        self._claim_of: dict[str, ClaimName] = {}
        self._offers: dict[tuple[object, ...], _Offers] = {}

    def take_changes(self) -> tuple[set[ClaimName], set[str], bool]:
        """Claims that changed, classes with other volumes or capacity, and whether all classes changed."""
        claims = {name for uid in self._caches.volume_claims.take_changes() for name in self._read_claim(uid)}
        classes: set[str] = set()
        for uid in self._caches.volumes.take_changes():
            of_volume, of_class = self._read_volume(uid)
            claims |= of_volume
            classes |= of_class
        is_all = self._read_classes()
        if self._caches.storage_capacities.take_changes():
            before, self._capacities = self._capacities, {}
            for one in self._caches.storage_capacities.all():
                self._capacities.setdefault(one.storage_class_name, []).append(one)
            names = before.keys() | self._capacities.keys()
            classes.update(name for name in names if _key(before, name) != _key(self._capacities, name))
        if classes or is_all:
            self._offers.clear()
        return claims, classes, is_all

    def claim(self, name: ClaimName) -> VolumeClaim | None:
        """The claim of this name."""
        return self._caches.volume_claims.find(self._claims.get(name, ""))

    def volume(self, name: str) -> PersistentVolume | None:
        """The volume of this name."""
        return self._caches.volumes.find(self._volumes.get(name, ""))

    def class_of(self, claim: VolumeClaim) -> StorageClass | None:
        """The storage class of a claim; None: it has none, or it does not exist."""
        return self._classes.get(class_name(claim))

    def waits_for_pod(self, claim: VolumeClaim) -> bool:
        """Whether an unbound claim is bound only after a node is chosen for its pod."""
        found = self.class_of(claim)
        return found is not None and found.volume_binding_mode == _WAITS and not claim.spec.volume_name

    def volume_for(self, claim: VolumeClaim) -> PersistentVolume | None:
        """The volume that names an unbound claim and is bound to it next; None: none does."""
        uids = sorted(self._waiting_for.get(name_of(claim.metadata), ()))
        volumes = (volume for uid in uids if (volume := self._caches.volumes.find(uid)) is not None)
        return next((volume for volume in volumes if is_for(volume, claim)), None)

    def free_volumes(self, claim: VolumeClaim) -> Iterator[PersistentVolume]:
        """Volumes that an unbound claim can have, the smallest first."""
        known = map(self._caches.volumes.find, self._offers_to(claim).volumes)
        return (volume for volume in known if volume is not None and fits(volume, claim))

    def provisioning_nodes(self, claim: VolumeClaim) -> AnyOf:
        """Nodes on which the provisioner of the class can make a volume for the claim."""
        found = self.class_of(claim)
        if found is None or found.provisioner in _NO_PROVISIONER or claim.spec.selector is not None:
            return NOWHERE
        allowed = tuple(term_of_topology(term) for term in found.allowed_topologies)
        if found.provisioner not in self._tracked:
            return allowed or ANYWHERE
        size = storage_amount(claim.spec.resources.requests)
        capacities = self._capacities.get(found.metadata.name, ())
        terms = [
            term_of_labels(one.node_topology)
            for one in capacities
            if one.node_topology is not None and storage_amount({"storage": largest_volume(one)}) >= size
        ]
        return unite((*term, *more) for term in terms for more in allowed or ANYWHERE)

    def candidates(self, claim: VolumeClaim) -> AnyOf:
        """Nodes on which an unbound claim that waits for its pod can get a volume."""
        if (volume := self.volume_for(claim)) is not None:
            return nodes_of(volume)
        return self._offers_to(claim).nodes

    def _offers_to(self, claim: VolumeClaim) -> _Offers:
        """Volumes and nodes for claims like this one, which many pods of one owner have."""
        like = request_of(claim)
        found = self._offers.get(like)
        if found is None:
            known = map(self._caches.volumes.find, self._free.get(class_name(claim), ()))
            volumes = [volume for volume in known if volume is not None and fits(volume, claim)]
            volumes.sort(key=lambda volume: (storage_amount(volume.spec.capacity), volume.metadata.name))
            of_volumes = (term for volume in volumes for term in nodes_of(volume))
            nodes = unite((*of_volumes, *self.provisioning_nodes(claim)))
            found = self._offers[like] = _Offers(tuple(one.metadata.uid for one in volumes), nodes)
        return found

    def _read_claim(self, uid: str) -> Iterable[ClaimName]:
        claim = self._caches.volume_claims.find(uid)
        before, volume = self._known_claims.pop(uid, (None, ""))
        if before is not None and self._claims.get(before) == uid:
            del self._claims[before]
        if self._named_by.get(volume) == before:
            self._named_by.pop(volume, None)
        if claim is None:
            return () if before is None else (before,)
        name, volume = name_of(claim.metadata), claim.spec.volume_name
        self._known_claims[uid], self._claims[name] = (name, volume), uid
        if volume:
            self._named_by[volume] = name
        return (name,)

    def _read_volume(self, uid: str) -> tuple[set[ClaimName], set[str]]:
        """Claims and storage classes that a changed volume concerns."""
        volume, before = self._caches.volumes.find(uid), self._volume_names.pop(uid, None)
        name = before if volume is None else volume.metadata.name
        named = self._named_by.get(name or "")
        claims = set() if named is None else {named}
        if before is not None and self._volumes.get(before) == uid:
            del self._volumes[before]
        if (wanted := self._claim_of.pop(uid, None)) is not None:
            claims.add(wanted)
            drop(self._waiting_for, wanted, uid)
        was_free = self._class_of_free.pop(uid, None)
        if was_free is not None:
            drop(self._free, was_free, uid)
        free_in: str | None = None
        if volume is not None:
            self._volume_names[uid], self._volumes[volume.metadata.name] = volume.metadata.name, uid
            if (reference := volume.spec.claim_ref) is not None:
                wanted = self._claim_of[uid] = ClaimName(reference.namespace, reference.name)
                claims.add(wanted)
                self._waiting_for[wanted].add(uid)
            elif is_free(volume):
                free_in = self._class_of_free[uid] = class_of_volume(volume)
                self._free[free_in].add(uid)
        return claims, {name for name in (was_free, free_in) if name is not None}

    def _read_classes(self) -> bool:
        classes, drivers = self._caches.storage_classes, self._caches.csi_drivers
        changed = classes.take_changes() | drivers.take_changes()
        if changed:
            self._classes = {one.metadata.name: one for one in classes.all()}
            self._tracked = frozenset(one.metadata.name for one in drivers.all() if one.spec.storage_capacity)
        return bool(changed)


def _key(capacities: Mapping[str, list[StorageCapacity]], name: str) -> list[tuple[str, str]]:
    return sorted((one.metadata.uid, one.metadata.resource_version) for one in capacities.get(name, ()))
