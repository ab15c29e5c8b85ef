"""Pods: requests, constraints and status."""

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
    """0: none."""
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class Container(msgspec.Struct, rename="camel", omit_defaults=True):
    """A container."""

    name: str = ""
    resources: Requirements = msgspec.field(default_factory=Requirements)
    ports: list[Port] = []
    restart_policy: str = ""
    """Of an init container: "Always" for a sidecar."""


class Toleration(msgspec.Struct, rename="camel", omit_defaults=True):
    """A toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SelectorRequirement(msgspec.Struct, rename="camel", omit_defaults=True):
    """A requirement on a label."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """Requirements that must all hold."""

    match_expressions: list[SelectorRequirement] = []
    match_fields: list[SelectorRequirement] = []


class NodeSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """Terms; one of them must hold."""

    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """A preferred node selector term."""

    weight: int = 1
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Node affinity."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredSchedulingTerm] = msgspec.field(
        default_factory=list, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelector(msgspec.Struct, rename="camel", omit_defaults=True):
    """A label selector."""

    match_labels: dict[str, str] = {}
    match_expressions: list[SelectorRequirement] = []


class PodAffinityTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod affinity term."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    """None: it selects no pods."""
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(msgspec.Struct, rename="camel", omit_defaults=True):
    """A preferred pod affinity term."""

    weight: int = 1
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Terms that must all hold, and preferred ones."""

    required: list[PodAffinityTerm] = msgspec.field(
        default_factory=list, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(
        default_factory=list, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(msgspec.Struct, rename="camel", omit_defaults=True):
    """Affinity of a pod."""

    node_affinity: NodeAffinity = msgspec.field(default_factory=NodeAffinity)
    pod_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)
    pod_anti_affinity: PodAffinity = msgspec.field(default_factory=PodAffinity)


class TopologySpreadConstraint(msgspec.Struct, rename="camel", omit_defaults=True):
    """A bound for the difference between domains."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    """None: it selects no pods."""
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: list[str] = []


class SchedulingGate(msgspec.Struct, rename="camel", omit_defaults=True):
    """A scheduling gate: the pod is not scheduled until it is removed."""

    name: str = ""


class ClaimVolume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A persistent volume claim of a volume."""

    claim_name: str = ""


class EphemeralVolume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A volume with a claim of its own, which is made for the pod."""


class Volume(msgspec.Struct, rename="camel", omit_defaults=True):
    """A volume; only claims are read."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class PodResourceClaim(msgspec.Struct, rename="camel", omit_defaults=True):
    """A resource claim of a pod."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class SchedulingGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """The pod group of `scheduling.k8s.io` that a pod names."""

    pod_group_name: str = ""


class WorkloadReference(msgspec.Struct, rename="camel", omit_defaults=True):
    """The workload of `scheduling.k8s.io` that a pod names, in Kubernetes 1.35."""

    name: str = ""


class PodSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = msgspec.field(default_factory=Affinity)
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: Requirements = msgspec.field(default_factory=Requirements)
    """Requests of the whole pod; empty: the sum of its containers."""
    overhead: dict[str, str] = {}
    scheduling_gates: list[SchedulingGate] = []
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    resource_claims: list[PodResourceClaim] = []
    volumes: list[Volume] = []
    termination_grace_period_seconds: int | None = None


class PodResourceClaimStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """The claim that was created for a pod."""

    name: str = ""
    resource_claim_name: str = ""


class RequestMapping(msgspec.Struct, rename="camel", frozen=True):
    """The request of a claim that serves a resource of a container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedClaimStatus(msgspec.Struct, rename="camel"):
    """The claim with the devices that serve extended resources of a pod."""

    request_mappings: list[RequestMapping] = []
    resource_claim_name: str = ""


class ContainerStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a container has during a resize in place."""

    name: str = ""
    resources: Requirements | None = None
    allocated_resources: dict[str, str] = {}


class PodStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """Status of a pod."""

    phase: str = ""
    conditions: list[Condition] = []
    start_time: datetime | None = None
    nominated_node_name: str = ""
    resource_claim_statuses: list[PodResourceClaimStatus] = []
    extended_resource_claim_status: ExtendedClaimStatus | None = None
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    resources: Requirements | None = None
    """What the whole pod has, if its requests are those of the whole pod."""
    allocated_resources: dict[str, str] = {}


class Pod(msgspec.Struct, rename="camel", omit_defaults=True):
    """A pod."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


def is_ready(pod: Pod) -> bool:
    """Whether a pod has the condition Ready."""
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
