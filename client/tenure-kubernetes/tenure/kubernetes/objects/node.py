"""Nodes."""

import msgspec
from tenure.kubernetes.objects.meta import Condition, ObjectMeta


class Taint(msgspec.Struct, rename="camel", omit_defaults=True):
    """Keeps pods off that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """What was asked of a node."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a node is; amounts are quantities."""

    allocatable: dict[str, str] = {}
    conditions: list[Condition] = []


class Node(msgspec.Struct, rename="camel", omit_defaults=True):
    """A machine that runs pods."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class PriorityClass(msgspec.Struct, rename="camel", omit_defaults=True):
    """A number behind a name."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    value: int = 0
    global_default: bool = False
