"""Objects of Volcano: queues and pod groups (`scheduling.volcano.sh/v1beta1`)."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta

Quantities = dict[str, str | int | float]
"""Amounts by resource, as text or numbers."""


class Guarantee(msgspec.Struct, rename="camel", omit_defaults=True):
    """Resources that are guaranteed to a queue, as quantities."""

    resource: Quantities = {}


class QueueSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Limits and shares of a queue, as quantities."""

    parent: str = ""
    priority: int | None = None
    weight: int = 1
    capability: Quantities = {}
    deserved: Quantities = {}
    guarantee: Guarantee = msgspec.field(default_factory=Guarantee)
    reclaimable: bool = True


class Queue(msgspec.Struct, rename="camel", omit_defaults=True):
    """A cluster-scoped queue."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: QueueSpec = msgspec.field(default_factory=QueueSpec)


class PodGroupSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """The scheduling requirements of a pod group."""

    queue: str = ""
    priority_class_name: str = ""
    preemptibility: str = ""
    min_member: int | None = None
    min_task_member: dict[str, int] = {}


class PodGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod group."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
