"""Devices that drivers publish, and classes of devices."""

from typing import Any

import msgspec
from tenure.kubernetes.objects.device_claims import DeviceConfig, DeviceSelector
from tenure.kubernetes.objects.meta import ObjectMeta


class DeviceAttribute(msgspec.Struct, omit_defaults=True):
    """An attribute of a device: one of these values."""

    whole: int | None = msgspec.field(default=None, name="int")
    flag: bool | None = msgspec.field(default=None, name="bool")
    text: str | None = msgspec.field(default=None, name="string")
    version: str | None = None


class DeviceCapacity(msgspec.Struct, rename="camel", omit_defaults=True):
    """A capacity of a device."""

    value: str = ""


class DeviceTaint(msgspec.Struct, rename="camel", omit_defaults=True):
    """A taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(msgspec.Struct, rename="camel", omit_defaults=True):
    """A device of a resource slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    taints: list[DeviceTaint] = []
    consumes_counters: list[Any] = []
    allow_multiple_allocations: bool = False
    binding_conditions: list[str] = []
    binds_to_node: bool = False
    node_allocatable_resource_mappings: dict[str, Any] = {}
    """What it takes of the allocatable amounts of its node, in Kubernetes 1.36."""
    node_allocatable_resources: Any = None
    """What it takes of the allocatable amounts of its node, since Kubernetes 1.37."""


class DevicePool(msgspec.Struct, rename="camel", omit_defaults=True):
    """The pool that a resource slice is a part of."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class SliceSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Spec of a resource slice."""

    driver: str = ""
    pool: DevicePool = msgspec.field(default_factory=DevicePool)
    node_name: str = ""
    """Node of all of its devices; "": they are for other sets of nodes."""
    devices: list[Device] = []
    shared_counters: list[Any] = []
    skip_node_operations: list[Any] = []
    """What kubelets do not ask the driver for, since Kubernetes 1.37; an allocation repeats it."""


class ResourceSlice(msgspec.Struct, rename="camel", omit_defaults=True):
    """A part of a pool of devices."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: SliceSpec = msgspec.field(default_factory=SliceSpec)


class TaintedDevices(msgspec.Struct, rename="camel", omit_defaults=True):
    """Devices that a rule taints: those with all of these names. Versions before 1.35 select by more, too."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class TaintRuleSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Spec of a rule."""

    device_selector: TaintedDevices = msgspec.field(default_factory=TaintedDevices)
    taint: DeviceTaint = msgspec.field(default_factory=DeviceTaint)


class DeviceTaintRule(msgspec.Struct, rename="camel", omit_defaults=True):
    """A rule of an administrator, which taints devices of drivers."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: TaintRuleSpec = msgspec.field(default_factory=TaintRuleSpec)


class ClassSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Spec of a class of devices."""

    selectors: list[DeviceSelector] = []
    config: list[DeviceConfig] = []
    extended_resource_name: str = ""
    """Resource that pods may request instead of a claim to a device of the class."""


class DeviceClass(msgspec.Struct, rename="camel", omit_defaults=True):
    """A class of devices."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ClassSpec = msgspec.field(default_factory=ClassSpec)
