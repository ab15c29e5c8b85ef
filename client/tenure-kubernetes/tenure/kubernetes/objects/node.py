"""Nodes, namespaces and priority classes."""

import msgspec
from tenure.kubernetes.objects.meta import Condition, ObjectMeta


class Taint(msgspec.Struct, rename="camel", omit_defaults=True):
    """A taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a node."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """Status of a node; amounts are quantities."""

    allocatable: dict[str, str] = {}
    conditions: list[Condition] = []


class Node(msgspec.Struct, rename="camel", omit_defaults=True):
    """A node."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class Namespace(msgspec.Struct, rename="camel", omit_defaults=True):
    """A namespace."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class PriorityClass(msgspec.Struct, rename="camel", omit_defaults=True):
    """A priority class."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
