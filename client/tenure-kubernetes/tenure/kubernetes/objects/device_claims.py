"""Resource claims of dynamic resource allocation: what is requested, and what is allocated."""

from typing import Any

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import NodeSelector


class CelSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """A CEL expression about a device."""

    expression: str = ""


class DeviceSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """A selector of devices. None: of a kind that is not known."""

    cel: CelSelector | None = None


class DeviceToleration(msgspec.Struct, rename="camel", omit_defaults=True):
    """Taints of devices that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ExactRequest(msgspec.Struct, rename="camel", omit_defaults=True):
    """Devices of one class."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: list[DeviceToleration] = []
    capacity: Any = None
    derived_attributes: Any = None
    """Attributes for its selectors and constraints, since Kubernetes 1.37."""


class SubRequest(ExactRequest, rename="camel", omit_defaults=True):
    """One of several alternatives."""

    name: str = ""


class DeviceRequest(msgspec.Struct, rename="camel", omit_defaults=True):
    """A request of a claim: exactly one of both fields, unless it is of a kind that is not known."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[SubRequest] = []


class DeviceConstraint(msgspec.Struct, rename="camel", omit_defaults=True):
    """A condition on all devices of some requests; without requests, of all."""

    requests: list[str] = []
    match_attribute: str = ""
    distinct_attribute: str = ""


class DeviceConfig(msgspec.Struct, rename="camel", omit_defaults=True):
    """Parameters for a driver, which the allocator copies."""

    requests: list[str] = []
    opaque: Any = None


class DeviceClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a claim requests."""

    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[DeviceConfig] = []


class ClaimSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Spec of a claim. It is immutable."""

    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class AllocatedDevice(msgspec.Struct, rename="camel", omit_defaults=True):
    """A device of an allocation."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    """Whether it is used beside the claims that have it."""
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
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)
