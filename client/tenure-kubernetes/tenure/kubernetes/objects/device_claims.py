"""Resource claims of dynamic resource allocation."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import NodeSelector


class AllocatedDevice(msgspec.Struct, rename="camel", omit_defaults=True):
    """A device of an allocation."""

    binding_conditions: list[str] = []
    """Conditions that its driver must set before a pod is bound."""


class AllocatedDevices(msgspec.Struct, rename="camel", omit_defaults=True):
    """The devices of an allocation."""

    results: list[AllocatedDevice] = []


class Allocation(msgspec.Struct, rename="camel", omit_defaults=True):
    """Devices that are reserved for a claim, and the nodes that can use them."""

    devices: AllocatedDevices = msgspec.field(default_factory=AllocatedDevices)
    node_selector: NodeSelector | None = None


class Consumer(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod that may use a claim."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class ClaimStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """Status of a claim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []


class ResourceClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """A resource claim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)
