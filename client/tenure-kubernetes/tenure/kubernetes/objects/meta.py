"""Leases: who may act at a time.

What all Kubernetes objects have in common.
"""

from datetime import datetime

import msgspec


class OwnerReference(msgspec.Struct, rename="camel", frozen=True):
    """Who an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """Who an object is, and what was written on it."""

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
        """Who controls the object; None: nobody."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(msgspec.Struct, rename="camel", omit_defaults=True):
    """Any object of which only the metadata is of interest."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    api_version: str = ""
    kind: str = ""


class Condition(msgspec.Struct, rename="camel", omit_defaults=True):
    """One observation in a status."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Who holds a lease. Times are texts: they are other machines' clocks, and only compared for change."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(msgspec.Struct, rename="camel", omit_defaults=True):
    """A lease as the API server has it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
