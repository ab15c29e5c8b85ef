"""Disruption budgets."""

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import LabelSelector


class BudgetSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Specification of a disruption budget."""

    selector: LabelSelector | None = None
    """None: it selects no pods."""


class BudgetStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """What the disruption controller counted."""

    observed_generation: int = 0
    disruptions_allowed: int = 0


class DisruptionBudget(msgspec.Struct, rename="camel", omit_defaults=True):
    """A limit for evictions of the pods of a selector."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)
