"""Volume claims, volumes, storage classes, and what CSI drivers publish about nodes."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import LabelSelector, NodeSelector, Requirements


class ClaimSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a volume claim."""

    access_modes: list[str] = []
    resources: Requirements = msgspec.field(default_factory=Requirements)
    volume_name: str = ""
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    volume_attributes_class_name: str = ""


class Phase(msgspec.Struct, rename="camel", omit_defaults=True):
    """Phase of a claim or a volume."""

    phase: str = ""


class VolumeClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """A persistent volume claim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: Phase = msgspec.field(default_factory=Phase)


class ClaimReference(msgspec.Struct, rename="camel", omit_defaults=True):
    """The claim that a volume is for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(msgspec.Struct, rename="camel", omit_defaults=True):
    """The driver of a volume, and its own name for it."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Nodes that can use a volume."""

    required: NodeSelector | None = None


class VolumeSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a volume."""

    capacity: dict[str, str] = {}
    access_modes: list[str] = []
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    node_affinity: VolumeNodeAffinity = msgspec.field(default_factory=VolumeNodeAffinity)
    csi: CsiSource | None = None


class PersistentVolume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A persistent volume."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)
    status: Phase = msgspec.field(default_factory=Phase)


class TopologyLabel(msgspec.Struct, rename="camel", omit_defaults=True):
    """A label with one of some values."""

    key: str = ""
    values: list[str] = []


class TopologyTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """Labels that a node must have, each with one of some values."""

    match_label_expressions: list[TopologyLabel] = []


class StorageClass(msgspec.Struct, rename="camel", omit_defaults=True):
    """A storage class."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologyTerm] = []


class CsiDriverSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a driver."""

    storage_capacity: bool = False
    """Whether it publishes capacity, so that a claim is only provisioned where some is left."""


class CsiDriver(msgspec.Struct, rename="camel", omit_defaults=True):
    """A CSI driver."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: CsiDriverSpec = msgspec.field(default_factory=CsiDriverSpec)


class StorageCapacity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Capacity of a storage class on some nodes."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    """None: no node can use it."""
    capacity: str = ""
    maximum_volume_size: str = ""


class AttachLimit(msgspec.Struct, rename="camel", omit_defaults=True):
    """How many volumes of a driver a node attaches."""

    count: int | None = None


class NodeDriver(msgspec.Struct, rename="camel", omit_defaults=True):
    """A driver on a node."""

    name: str = ""
    allocatable: AttachLimit = msgspec.field(default_factory=AttachLimit)


class CsiNodeSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Drivers on a node."""

    drivers: list[NodeDriver] = []


class CsiNode(msgspec.Struct, rename="camel", omit_defaults=True):
    """What drivers publish about the node of the same name."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: CsiNodeSpec = msgspec.field(default_factory=CsiNodeSpec)


class AttachmentSource(msgspec.Struct, rename="camel", omit_defaults=True):
    """The volume of an attachment."""

    persistent_volume_name: str = ""


class AttachmentSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Which volume is attached to which node."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = msgspec.field(default_factory=AttachmentSource)


class VolumeAttachment(msgspec.Struct, rename="camel", omit_defaults=True):
    """A volume that is attached to a node, with or without a pod that uses it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: AttachmentSpec = msgspec.field(default_factory=AttachmentSpec)
