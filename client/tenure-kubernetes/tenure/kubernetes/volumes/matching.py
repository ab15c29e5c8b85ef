"""Volumes and claims that match, by the rules of kube-scheduler's plugins VolumeBinding and VolumeZone."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import LabelSelector
from tenure.kubernetes.objects.resource_amounts import InvalidQuantity, quantity
from tenure.kubernetes.objects.storage import PersistentVolume, StorageCapacity, TopologyTerm, VolumeClaim
from tenure.kubernetes.volumes.node_terms import (
    NOWHERE,
    AnyOf,
    NodeRequirement,
    Term,
    matches,
    term_of_labels,
    terms_of,
)

BOUND: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
ONE_POD: Final = "ReadWriteOncePod"
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_AVAILABLE: Final = "Available"
_USED_UP: Final = ("Released", "Failed")
"""Phases of volumes that are bound to no further claim."""
_ZONES: Final = (
    ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
)
"""Labels of volumes and nodes, now and in old clusters."""
_IN: Final = "In"
_ENCODE: Final = msgspec.msgpack.Encoder(order="deterministic").encode


class ClaimName(NamedTuple):
    """Namespace and name of a claim."""

    namespace: str
    name: str


def name_of(meta: ObjectMeta) -> ClaimName:
    """The name of a claim."""
    return ClaimName(meta.namespace, meta.name)


def class_name(claim: VolumeClaim) -> str:
    """Name of the storage class of a claim; "": none."""
    return claim.metadata.annotations.get(_CLASS, claim.spec.storage_class_name)


def class_of_volume(volume: PersistentVolume) -> str:
    """Name of the storage class of a volume; "": none."""
    return volume.metadata.annotations.get(_CLASS, volume.spec.storage_class_name)


def is_bound(claim: VolumeClaim) -> bool:
    """Whether a claim has its volume for good; its phase alone does not tell."""
    return bool(claim.spec.volume_name) and BOUND in claim.metadata.annotations


def nodes_of(volume: PersistentVolume) -> AnyOf:
    """Nodes that can use a volume: by its node affinity, and by its labels of zone and region.

    A node without such labels can use every volume.
    """
    terms = terms_of(volume.spec.node_affinity.required)
    zones = _zones(volume.metadata.labels)
    return tuple((*term, *zone) for term in terms for zone in zones) if zones else terms


def term_of_topology(topology: TopologyTerm) -> Term:
    """Nodes in an allowed topology of a storage class."""
    labels = topology.match_label_expressions
    return tuple(NodeRequirement(one.key, _IN, tuple(sorted(one.values))) for one in labels)


def _zones(labels: Mapping[str, str]) -> AnyOf:
    wanted: list[tuple[tuple[str, str], tuple[str, ...]]] = []
    for keys in _ZONES:
        value = next((labels[key] for key in keys if key in labels), "")
        if value:
            wanted.append((keys, tuple(sorted(filter(None, value.split("__"))))))
    if not wanted:
        return NOWHERE
    terms: list[Term] = [
        tuple(NodeRequirement(keys[place], _IN, values) for keys, values in wanted) for place in (0, 1)
    ]
    terms.append(tuple(NodeRequirement(key, "DoesNotExist") for keys in _ZONES for key in keys))
    return tuple(terms)


def is_for(volume: PersistentVolume, claim: VolumeClaim) -> bool:
    """Whether a volume is for this claim, and not for an earlier one of its name."""
    reference = volume.spec.claim_ref
    is_usable = volume.metadata.deletion_timestamp is None and volume.status.phase not in _USED_UP
    if reference is None or ClaimName(reference.namespace, reference.name) != name_of(claim.metadata):
        return False
    return is_usable and reference.uid in ("", claim.metadata.uid)


def request_of(claim: VolumeClaim) -> tuple[object, ...]:
    """What a claim requests: claims with equal requests can have the same volumes."""
    spec = claim.spec
    selector = None if spec.selector is None else _ENCODE(spec.selector)
    amount, modes = storage_amount(spec.resources.requests), tuple(sorted(spec.access_modes))
    return class_name(claim), amount, modes, spec.volume_mode, spec.volume_attributes_class_name, selector


def is_free(volume: PersistentVolume) -> bool:
    """Whether a volume can be bound to any claim."""
    is_there = volume.metadata.deletion_timestamp is None and volume.status.phase == _AVAILABLE
    return is_there and volume.spec.claim_ref is None


def fits(volume: PersistentVolume, claim: VolumeClaim) -> bool:
    """Whether a free volume of the class of a claim can be bound to it."""
    spec, wanted = volume.spec, claim.spec
    return (
        is_free(volume)
        and storage_amount(spec.capacity) >= storage_amount(wanted.resources.requests)
        and spec.volume_mode == wanted.volume_mode
        and spec.volume_attributes_class_name == wanted.volume_attributes_class_name
        and set(wanted.access_modes) <= set(spec.access_modes)
        and (wanted.selector is None or selects(wanted.selector, volume.metadata.labels))
    )


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a selector matches labels. One that cannot be read matches none."""
    return matches((term_of_labels(selector),), "", labels)


def storage_amount(amounts: Mapping[str, str]) -> int:
    """Requested or offered bytes; an unreadable amount counts as 0."""
    try:
        return quantity(str(amounts.get("storage") or "0"))
    except InvalidQuantity:
        return 0


def largest_volume(capacity: StorageCapacity) -> str:
    """The largest volume that can be made."""
    return capacity.maximum_volume_size or capacity.capacity
