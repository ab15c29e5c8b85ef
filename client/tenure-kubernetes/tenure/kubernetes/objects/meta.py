"""Metadata that all Kubernetes objects have, conditions, and leases."""

from datetime import datetime
from typing import Final, NamedTuple

import msgspec


class OwnerReference(msgspec.Struct, rename="camel", frozen=True):
    """Reference to an owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """Metadata of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None

    def owner(self) -> OwnerReference | None:
        """The controlling owner, or None."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ObjectReference(NamedTuple):
    """Name and uid of an object."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


POD_GROUP: Final = "PodGroup"
"""Kind of pod groups, in all APIs."""


def pod_reference(meta: ObjectMeta) -> ObjectReference:
    """Reference to a pod."""
    return ObjectReference("v1", "Pod", meta.namespace, meta.name, meta.uid)


def cluster_reference(api_version: str, kind: str, meta: ObjectMeta) -> ObjectReference:
    """Reference to an object outside of namespaces."""
    return ObjectReference(api_version, kind, "", meta.name, meta.uid)


class Object(msgspec.Struct, rename="camel", omit_defaults=True):
    """Any object, without its own fields."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    api_version: str = ""
    kind: str = ""


class Condition(msgspec.Struct, rename="camel", omit_defaults=True):
    """A condition of a status."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Holder of a lease. Times are text, because only their changes count."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(msgspec.Struct, rename="camel", omit_defaults=True):
    """A lease."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
