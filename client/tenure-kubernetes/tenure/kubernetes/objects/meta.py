"""Metadata that all Kubernetes objects have, conditions, and leases."""

from datetime import datetime

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
