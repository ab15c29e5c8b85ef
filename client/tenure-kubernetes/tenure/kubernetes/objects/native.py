"""Pod groups of Kubernetes itself (`scheduling.k8s.io`): the fields that its known versions share."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta

VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2")
"""Known versions with pod groups, the latest first: 1.37 has the first two, 1.36 the last."""


class GangPolicy(msgspec.Struct, rename="camel", omit_defaults=True):
    """All or nothing."""

    min_count: int = 0


class BasicPolicy(msgspec.Struct, rename="camel", omit_defaults=True):
    """Pod by pod."""


class SchedulingPolicy(msgspec.Struct, rename="camel", omit_defaults=True):
    """One of them is set."""

    gang: GangPolicy | None = None
    basic: BasicPolicy | None = None


class TopologyKey(msgspec.Struct, rename="camel", omit_defaults=True):
    """A node label: all pods are on nodes with one value."""

    key: str = ""


class SchedulingConstraints(msgspec.Struct, rename="camel", omit_defaults=True):
    """At most one topology constraint in known versions."""

    topology: list[TopologyKey] = []


class AllPods(msgspec.Struct, rename="camel", omit_defaults=True):
    """The pods are evicted together."""


class DisruptionMode(msgspec.Struct, rename="camel", omit_defaults=True):
    """What is evicted at once, from 1.37 on; by default single pods."""

    all: AllPods | None = None


class PodGroupClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """A resource claim that the pods share."""

    name: str = ""


class PodGroupSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """The scheduling requirements of a pod group."""

    scheduling_policy: SchedulingPolicy = msgspec.field(default_factory=SchedulingPolicy)
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: str | DisruptionMode | None = None
    """In 1.36 a text: `Pod` or `PodGroup`."""
    priority_class_name: str = ""
    preemption_policy: str | None = None
    resource_claims: list[PodGroupClaim] = []
    parent_composite_pod_group_name: str | None = None


class PodGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod group."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
