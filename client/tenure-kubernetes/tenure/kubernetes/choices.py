"""Values of settings that are also options of the command line, which must start quickly."""

from enum import StrEnum


class EvictionMode(StrEnum):
    """How pods are evicted."""

    EVICTION = "eviction"
    """Eviction API, which respects disruption budgets."""
    PATIENT = "patient"
    """Eviction API; deletion where budgets hold no longer (option `budgetPatience` of the server)."""
    DELETE = "delete"
    """Deletion, which ignores disruption budgets."""


class WorkloadApi(StrEnum):
    """The API of the observed queues and pod groups."""

    AUTO = "auto"
    """All that the API server serves."""
    KAI = "kai"
    VOLCANO = "volcano"
