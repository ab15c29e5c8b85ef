"""What all Kubernetes objects have in common."""

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
