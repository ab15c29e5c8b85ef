"""Objects of KAI-Scheduler: queues, pod groups, topologies."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta


class QueueResource(msgspec.Struct, rename="camel", omit_defaults=True):
    """Share of one resource. -1 is unlimited, the default is 0."""

    quota: float = 0.0
    limit: float = 0.0
    over_quota_weight: float = 0.0


class QueueResources(msgspec.Struct, rename="camel", omit_defaults=True):
    """CPU in milli-cores, memory in megabytes (10^6 bytes), GPUs in devices."""

    cpu: QueueResource = msgspec.field(default_factory=QueueResource)
    memory: QueueResource = msgspec.field(default_factory=QueueResource)
    gpu: QueueResource = msgspec.field(default_factory=QueueResource)


class QueueSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Shares of a queue. Without them it has none."""

    parent_queue: str = ""
    priority: int | None = None
    resources: QueueResources = msgspec.field(default_factory=QueueResources)
    preempt_min_runtime: str | None = None
    reclaim_min_runtime: str | None = None


class Queue(msgspec.Struct, rename="camel", omit_defaults=True):
    """A cluster-scoped queue."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: QueueSpec = msgspec.field(default_factory=QueueSpec)


class TopologyConstraint(msgspec.Struct, rename="camel", omit_defaults=True):
    """A topology constraint."""

    topology: str = ""
    required_topology_level: str = ""
    preferred_topology_level: str = ""


class SubGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """A subgroup."""

    name: str = ""
    parent: str | None = None
    min_member: int | None = None
    min_sub_group: int | None = None
    topology_constraint: TopologyConstraint | None = None


class PodGroupSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """The scheduling requirements of a pod group."""

    queue: str = ""
    priority_class_name: str = ""
    preemptibility: str = ""
    min_member: int | None = None
    min_sub_group: int | None = None
    sub_groups: list[SubGroup] = []
    topology_constraint: TopologyConstraint = msgspec.field(default_factory=TopologyConstraint)
    preemption_delay: str | None = None
    safe_to_consolidate: bool | None = None
    staleness_grace_period: str | None = None


class PodGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod group."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)


class TopologyLevel(msgspec.Struct, rename="camel", omit_defaults=True):
    """A level: its node label, and a second name of it."""

    node_label: str = ""
    alias: str = ""


class TopologySpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Levels, from the widest to the narrowest."""

    levels: list[TopologyLevel] = []


class Topology(msgspec.Struct, rename="camel", omit_defaults=True):
    """A cluster-scoped hierarchy of node labels."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: TopologySpec = msgspec.field(default_factory=TopologySpec)
