"""Pods: what they ask for, where they may go, and how they are."""

from datetime import datetime

import msgspec
from tenure.kubernetes.objects.meta import Condition, ObjectMeta


class Requirements(msgspec.Struct, rename="camel", omit_defaults=True):
    """Amounts of resources as quantities."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class Port(msgspec.Struct, rename="camel", omit_defaults=True):
    """A port that a container listens on."""

    host_port: int = 0


class Container(msgspec.Struct, rename="camel", omit_defaults=True):
    """A part of a pod."""

    name: str = ""
    resources: Requirements = msgspec.field(default_factory=Requirements)
    ports: list[Port] = []
    restart_policy: str = ""
    """Of an init container: "Always" when it runs beside the others."""


class Toleration(msgspec.Struct, rename="camel", omit_defaults=True):
    """Taints that do not matter to a pod."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SelectorRequirement(msgspec.Struct, rename="camel", omit_defaults=True):
    """How a label is to be."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """Requirements that must hold together."""

    match_expressions: list[SelectorRequirement] = []
    match_fields: list[SelectorRequirement] = []


class NodeSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """Terms of which one must hold."""

    node_selector_terms: list[NodeSelectorTerm] = []


class NodeAffinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Nodes a pod must be on."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """Which objects are meant, by their labels."""

    match_labels: dict[str, str] = {}
    match_expressions: list[SelectorRequirement] = []


class PodAffinityTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """Pods that must be near, or must not."""

    topology_key: str = ""
    label_selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None


class PodAffinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Terms that must hold, all of them."""

    required: list[PodAffinityTerm] = msgspec.field(
        default_factory=list, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Where a pod must be."""

    node_affinity: NodeAffinity = msgspec.field(default_factory=NodeAffinity)
    pod_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)
    pod_anti_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)


class SchedulingGate(msgspec.Struct, rename="camel", omit_defaults=True):
    """Holds a pod back until somebody takes it away."""

    name: str = ""


class ClaimVolume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A volume that is a claim."""

    claim_name: str = ""


class Volume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A volume of a pod; of interest when it is a claim."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None


class PodResourceClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """A claim for devices that a pod refers to."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """What was asked of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = msgspec.field(default_factory=Affinity)
    tolerations: list[Toleration] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: Requirements = msgspec.field(default_factory=Requirements)
    """Of the pod as a whole; empty: its containers say."""
    overhead: dict[str, str] = {}
    scheduling_gates: list[SchedulingGate] = []
    resource_claims: list[PodResourceClaim] = []
    volumes: list[Volume] = []
    termination_grace_period_seconds: int | None = None


class PodResourceClaimStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """Which claim was made for a pod."""

    name: str = ""
    resource_claim_name: str = ""


class PodStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """How a pod is."""

    phase: str = ""
    conditions: list[Condition] = []
    start_time: datetime | None = None
    nominated_node_name: str = ""
    resource_claim_statuses: list[PodResourceClaimStatus] = []


class Pod(msgspec.Struct, rename="camel", omit_defaults=True):
    """One pod."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
