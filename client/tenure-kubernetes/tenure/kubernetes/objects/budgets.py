"""Disruption budgets."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import LabelSelector


class BudgetSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a disruption budget."""

    selector: LabelSelector | None = None
    """None: it selects no pods."""
    unhealthy_pod_eviction_policy: str | None = None
    """`AlwaysAllow`, or `IfHealthyBudget`, the default."""


class BudgetStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """What the disruption controller counted."""

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    disrupted_pods: dict[str, str] = {}
    """Pods that are evicted and that the controller has not seen terminating, by name, with the time."""


class DisruptionBudget(msgspec.Struct, rename="camel", omit_defaults=True):
    """A limit for evictions of the pods of a selector."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)
